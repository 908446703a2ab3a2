"""Kinds of secrets, none of them real, and texts that only look like them.

In a row, the secret stands between ⟦ and ⟧, and {A20} means 20 letters and digits, {H32} 32 hexadecimal digits, {B40} 40 letters
of both cases. So nothing in this file looks like a secret to a scanner.
"""

import re
from itertools import cycle, islice

ALPHABETS = {
    "A": "q7Rt2mX9kLw4Zb1Vc8Ns5Hd3",
    "H": "3f9a0c7be1d52846",
    "B": "qRtmXkLwZbVcNsHdGjPfTyKu",
}


def filled(row: str) -> str:
    """'ghp_{A4}' -> 'ghp_q7Rt'"""
    return re.sub(
        r"\{([AHB])(\d+)\}", lambda m: "".join(islice(cycle(ALPHABETS[m[1]]), int(m[2]))), row
    )


SERVICES = """
    sk-proj-{A40} sk-ant-api03-{A36}-{A36} sk-or-v1-{H64} sk-{A48} sk-svcacct-{A40} gsk_{A52} pplx-{A48} xai-{A80} pa-{A43} csk-{A48}
    sk_{H48} hf_{A34} r8_{A37} tvly-{A32} lsv2_pt_{H32}_{H10} pcsk_{A50} jina_{A40} fc-{H32}
    sk_live_{A24} rk_live_{A24} sk_test_{A24} whsec_{A32} ghp_{A36} gho_{A36} ghs_{A36} ghu_{A36} ghr_{A36} github_pat_{A22}_{A59}
    glpat-{A20} glrt-{A20} gldt-{A20} glptt-{H40} glsoat-{A20} xoxb-{H12}-{H12}-{A24} xoxp-{H12}-{H12}-{A24} xapp-1-{A10}-{H12}-{H64}
    AIza{A35} ya29.{A60} GOCSPX-{A28} npm_{A36} pypi-{A90} rubygems_{H48} dckr_pat_{A27} dckr_oat_{A32} SG.{A22}.{A43} xkeysib-{H64}-{A16}
    key-{H32} dop_v1_{H64} doo_v1_{H64} tskey-auth-{A12}-{A24} hvs.{A24} hvb.{A90} shpat_{H32} shpss_{H32} shpca_{H32} dapi{H32} dapi{H32}-2
    ntn_{A46} secret_{A43} lin_api_{A40} lin_oauth_{H64} SK{H32} AC{H32} ATATT3{A100} ATBB{A32} pat{A14}.{H64} figd_{A40} glsa_{A32}_{H8}
    glc_{A60} dp.pt.{A43} sntrys_{A60} sntryu_{H64} sgp_{H40} sbp_{H40} HRKU-{H36} NRAK-{A27} PMAK-{H24}-{H34} pscale_tkn_{A43} pul-{H40}
    phx_{A43} pat-na1-{H32} nfp_{A40} CFPAT-{A43} EAA{A100} sl.{A130} ops_eyJ{A80} re_{A8}_{A24} oy2{H43}
    eyJ{A20}.eyJ{A40}.{A43} pk.eyJ{A40}.{A22} M{A25}.{A6}.{A38} 1234567890:AA{A33} AKIA{U16} ASIA{U16} LTAI{A20}
""".replace("{U16}", "QX7RT2MX9KLW4ZB1").split()  # fmt: skip

CONSTANTS = """
    DB_PASSWORD DB_PASS POSTGRES_PASSWORD SMTP_PASS MYSQL_ROOT_PASSWORD REDIS_PASSWORD STRIPE_KEY API_KEY OPENAI_API_KEY SECRET_KEY
    SECRET_KEY_BASE ENCRYPTION_KEY MASTER_KEY JWT_SECRET CLIENT_SECRET TOKEN GITHUB_TOKEN GITHUB_PAT AWS_SECRET_ACCESS_KEY
    TWILIO_AUTH_TOKEN PGPASSWORD CREDENTIALS SESSION_SECRET
""".split()
CONSTANT_FORMS = [
    "{}=⟦{A12}⟧",
    "export {}='⟦{A12}⟧'",
    "{}: ⟦{A12}⟧",
    '{} = "⟦{A12}⟧"',
    '"{}": "⟦{A12}⟧"',
]
NAMES = """
    password passwd passphrase dbPassword db_password clientSecret client_secret apiKey api_key api-key access_token accessToken
    auth_token refreshToken SecretAccessKey secretKey encryptionKey privateKey signing_key AccountKey credentials
""".split()
NAME_FORMS = [
    "{}: ⟦{A12}⟧",
    "{} = '⟦{A12}⟧'",
    '"{}": "⟦{A12}⟧",',
    "**{}:** ⟦{A12}⟧",
    "?{}=⟦{A12}⟧&user=ann",
]

OTHERS = [
    "POSTGRES_PASSWORD: ⟦hunter22x⟧",
    "API_KEY = ⟦hunter22x⟧",
    '{"CLIENT_SECRET": "⟦hunter22x⟧"}',
    "TOKEN: ⟦hunter22x⟧",
    '{"SecretAccessKey": "⟦{A40}⟧", "Version": 1}',
    '{"Version": 1, "SessionToken": "⟦{A60}⟧"}',
    "DB_PASS=⟦hunter⟧",
    "export OPENAI_API_KEY=⟦abcdefgh⟧",
    "DB_PASSWORD=⟦correct-horse⟧",
    'HASS_TOKEN="⟦quoted value with spaces⟧"',
    "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=⟦{A86}==⟧;EndpointSuffix=core.windows.net",
    "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=⟦{A43}=⟧",
    "https://x.blob.core.windows.net/c?sv=2022-11-02&sp=r&sig=⟦{A40}%3D⟧",
    "Server=db;User Id=sa;Password=⟦Zebra!42⟧;Encrypt=true",
    "host=db user=ann password=⟦swordfish⟧ dbname=app",
    "curl -u ann:⟦hunter22⟧ https://example.com",
    "curl --user 'ann:⟦hunter22⟧' https://example.com",
    "curl -s -X POST https://example.com -u ann:⟦s3cr3t/x⟧",
    "sshpass -p ⟦hunter22⟧ ssh -p 2222 root@host",
    "sshpass -p'⟦hunter22⟧' ssh root@host",
    "docker login -u ann -p ⟦hunter22⟧ registry.example.com",
    "helm registry login -u ann -p ⟦swordfish⟧ example.com",
    "mysql -u root -p⟦hunter22⟧ app",
    "mysqldump -uroot -p'⟦hunter22⟧' app > dump.sql",
    "mysql --password=⟦hunter22⟧ -u root",
    "mysql --password=⟦swordfish⟧ -u root",
    "redis-cli -h host -a ⟦hunter22⟧ ping",
    "mongosh -u ann -p ⟦hunter22⟧",
    "ldapsearch -D cn=admin -w ⟦hunter22⟧",
    "openssl rsa -in a.pem -passin pass:⟦swordfish⟧",
    "tool --api-key ⟦a1b2c3d4⟧ run",
    "tool --token ⟦{A20}⟧ run",
    "PGPASSWORD=⟦hunter22⟧ psql -h host",
    "machine example.com login ann password ⟦swordfish⟧",
    "ALTER USER ann WITH PASSWORD '⟦swordfish⟧';",
    "CREATE USER ann IDENTIFIED BY '⟦swordfish⟧';",
    "//npm.example.org/:_authToken=⟦{A36}⟧",
    "_auth=⟦{A24}==⟧",
    "**Password:** ⟦x1⟧",
    "**Password**: `⟦hunter22⟧`",
    "- Password: ⟦hunter22⟧",
    "Password:\n⟦hunter22⟧",
    "| Password | ⟦hunter22⟧ |",
    "<b>Password:</b> ⟦hunter22⟧",
    "<tr><td>Password</td><td>⟦hunter22⟧</td></tr>",
    "<password>⟦x⟧</password>",
    "<db:password>⟦swordfish⟧</db:password>",
    '<add key="Password" value="⟦hunter22⟧"/>',
    "- name: DB_PASSWORD\n  value: ⟦hunter22⟧",
    "config['password'] = '⟦hunter22⟧'",
    r'"{\"password\": \"⟦hunter22⟧\"}"',
    "dbPassword: ⟦hunter22⟧",
    "password: ⟦correct-horse-battery⟧",
    "password: ⟦correct-horse-battery-staple⟧ (rotates weekly)",
    "Password: ⟦Zebra!crossing⟧",
    "password: ⟦12345678⟧",
    'password: "⟦hunter, 22 and so on⟧"',
    'password = "⟦correct horse battery⟧"',
    "{ user: 'ann', pass: '⟦swordfish⟧' }",
    "client_secret = '⟦q1w2e3r4⟧'",
    "x-api-key: ⟦{A32}⟧",
    "PRIVATE-TOKEN: ⟦{A20}⟧",
    "postgres://app:⟦s3cr3t!⟧@db.example.com:5432/app",
    "postgres://app:⟦pa/ss1⟧@db/app",
    "postgres://app:⟦p$ss⟧@db/app",
    "postgres://app:⟦p%40ss⟧@db/app",
    "postgres://app:⟦$ecret!22/x⟧@db/app",
    "redis://:⟦hunter22⟧@cache:6379",
    "mongodb+srv://ann:⟦hunter22⟧@cluster.example.net/x",
    "https://ann:⟦hunter2⟧@example.com/x",
    "https://⟦{A40}⟧@github.com/ann/x.git",
    "https://hooks.slack.com/services/⟦T{A8}/B{A8}/{A24}⟧",
    "https://discord.com/api/webhooks/⟦1234567890/{A60}⟧",
    "curl -H 'Authorization: Bearer ⟦{A40}⟧'",
    "curl -H 'Authorization: Bearer ⟦{B40}⟧'",
    "Authorization: Bearer ⟦abcdefghijklmnopqrstuvwxyz⟧",
    "use Bearer ⟦{B32}⟧ for it",
    "https://x.webhook.office.com/⟦webhookb2/{H32}@{H32}/IncomingWebhook/{H32}⟧",
    "PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 2⟦\n{A64}\n{A64}⟧\nPrivate-MAC: x",
    "Authorization: Basic ⟦{A16}==⟧",
    "Authorization: token ⟦{A20}⟧",
    '"Authorization": "⟦{A32}⟧"',
    "Cookie: ⟦session={A32}; theme=dark⟧",
    "ann:⟦$2y$10${A53}⟧",
    "bot ⟦123456789:AA{A33}⟧ is ours",
    "bot ⟦12345678901:AB-{A31}⟧ is ours",
    "https://api.telegram.org/bot⟦7123456789:AAH{A32}⟧/getMe",
    "AccountName=a;AccountKey=⟦{B20}+/{B20}==⟧;EndpointSuffix=core.windows.net",
    "AccountKey=⟦{B86}⟧",
    "curl -su ann:⟦hunter22⟧ https://example.com",
    "curl -X POST \\\n  -u ann:⟦hunter22⟧ \\\n  https://example.com",
    '["curl", "-u", "ann:⟦hunter22⟧", "https://example.com"]',
    "curl -u 'ann':'⟦hunter22⟧' https://example.com",
    "Client('⟦AC{H32}', '{H32}⟧')",
    "the Twilio auth token ⟦{H32}⟧ was rotated",
    "the API key is ⟦{H40}⟧.",
    "TWILIO_API_SECRET=⟦{A32}⟧",
    "my wifi password: ⟦correct-horse-battery⟧",
    "client ⟦{A3}8Q~{A34}⟧ is ours",
    r'"quoted\n⟦ghp_{A36}⟧\n"',
    "密钥是⟦ghp_{A36}⟧。",
    "密钥STRIPE_KEY=⟦{A20}⟧",
    "passwort=⟦hunter22⟧",
    "password: ⟦TopSecretPassword1⟧",
    "DB_PASSWORD=⟦supersecretpassword⟧",
    "password: `⟦hunter22⟧`",
    "mnemonic: ⟦" + " ".join(["legal", "winner", "thank", "year", "wave", "sausage", "worth", "useful", "legal", "winner", "thank", "yellow"]) + "⟧",
    "⟦-----BEGIN {P} KEY-----\n{A64}\n{A64}\n{A20}==\n-----END {P} KEY-----⟧\nDone.",
    "⟦-----BEGIN RSA {P} KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{H32}\n\n{A64}\n-----END RSA {P} KEY-----⟧",
    "⟦-----BEGIN PGP {P} KEY BLOCK-----\n\n{A64}\n={A4}\n-----END PGP {P} KEY BLOCK-----⟧ ok",
    '{"private_key": "⟦-----BEGIN {P} KEY-----\\n{A64}\\n{A30}\\n-----END {P} KEY-----⟧\\n"}',
    "⟦-----BEGIN OPENSSH {P} KEY-----\n{A70}\n{A70}⟧\n\nThis was cut off.",
    "⟦-----BEGIN EC {P} KEY-----\n> {A64}\n> {A64}\n{A7}=⟧\nand so on",
]  # fmt: skip

# The shapes of the plugins of detect-secrets, and of what it and others found in texts that had been masked
KEYS = """
    sl.u.{A130} nvapi-{A64} CCIPAT_{A22}_{H40} AKCp8{A68} AKC{A12} AP6{A20} bkua_{H40} CLOJARS_{H60} AQ.{A50} 1//0{A60}
    v1.0-{H24}-{H146} GR1348941{A20} glcbt-1f_{A20} st.{H24}.{H32}.{H32} 1/1234567890123456:{H32} 5K{A49} EZAK{A54} pnu_{A36}
    rdme_{A70} AAAAAAAAAAAAAAAAAAAAA{A30}%3D{A50} {A14}.atlasv1.{A67} {H32}-us12 A3TX{U16} sq0csp-{A43}
    eyJ{A20}.{A80}.{A16}.{A60}.{A22} eyJ{A20}..{A16}.{A60}.{A22} eyJ{A20}.eyJ{A40}
""".replace("{U16}", "QX7RT2MX9KLW4ZB1").split()  # fmt: skip

HEADERS = [
    "AWS4-HMAC-SHA256 SignedHeaders=host, Signature=⟦{H64}⟧",
    'Digest username="joe", realm="x", response="⟦{H32}⟧"',
    "SSWS ⟦00{A40}⟧",
    "PASS oauth:⟦3f9a0c7be1d528463f9a0c7be1d528⟧",
    "https://api.softlayer.com/soap/v3.1/⟦{H64}⟧",
]

FILES = [
    "client-key-data: ⟦{A300}⟧",
    "  tls.key: ⟦{A300}⟧",
    '{"auths":{"reg":{"auth":"⟦{A30}⟧"}}}',
    r'"{\"auth\": \"⟦{A30}==⟧\"}"',
    "machine api.x.com password ⟦swordfish⟧",
    "machine x login joe account a password ⟦swordfish⟧",
    "machine api.x.com\n  login joe\n  password ⟦swordfish⟧",
    "db.example.com:5432:mydb:myuser:⟦swordfish⟧",
    "*:*:*:postgres:⟦swordfish⟧",
    'BW_SESSION="⟦{A86}==⟧"',
    "DUO_SKEY=⟦{A40}⟧",
    "<encryption_key>⟦{A24}⟧</encryption_key>",
    "<MASTER_KEY>⟦{A24}⟧</MASTER_KEY>",
    "<PASSWORD_HASH_KEY>⟦{A24}⟧</PASSWORD_HASH_KEY>",
    'psk="⟦swordfish1⟧"',
    "$ANSIBLE_VAULT;1.1;AES256⟦\n{H80}\n{H80}⟧\nend",
]

COMMANDS = [
    "aws configure set aws_secret_access_key ⟦{A40}⟧",
    "⟦AKIAQX7RT2MX9KLW4ZB1 / {A40}⟧",
    "wandb login ⟦{H40}⟧",
    "ngrok config add-authtoken ⟦2{A26}_{A21}⟧",
    "htpasswd -b file joe ⟦swordfish⟧",
    "htpasswd -nb joe ⟦swordfish⟧",
    "zip -P ⟦swordfish⟧ a.zip b",
    "smbclient //h/s -U joe%⟦swordfish⟧",
    "lftp -u joe,⟦swordfish⟧ h",
    "xfreerdp /u:joe /p:⟦swordfish⟧ /v:h",
    "net use Z: \\\\h\\s /user:joe ⟦swordfish⟧",
    "rclone config create x sftp pass ⟦swordfish⟧",
    "echo ⟦swordfish⟧ | docker login --password-stdin",
    'echo "⟦swordfish⟧" | sudo -S apt',
    "requests.get(u, auth=('joe','⟦swordfish⟧'))",
    "requests.get(u, auth=HTTPBasicAuth('joe', '⟦swordfish⟧'))",
]

MORE_COMMANDS = [
    "curl -b 'session=⟦{H20}⟧' https://x.org",
    "http -a joe:⟦swordfish⟧ https://x.org",
    "7z x -p⟦swordfish⟧ a.7z",
    "unrar x -p⟦swordfish⟧ a.rar",
    "openssl enc -k ⟦{A9}⟧ -in a",
    "keytool -list -storepass ⟦swordfish⟧",
    "snmpwalk -v3 -u joe -A ⟦swordfish⟧ host",
    "gh secret set NAME --body ⟦{A12}⟧",
    'ConvertTo-SecureString "⟦swordfish⟧" -AsPlainText',
    "enable secret 5 ⟦$1${A4}${A22}⟧",
    "username ann password 7 ⟦{H12}⟧",
    "sqlplus scott/⟦swordfish@orcl⟧",
    "wpa_passphrase home ⟦swordfish⟧",
    "nmcli dev wifi connect home password ⟦hunter22⟧",
    "echo 'joe:⟦swordfish⟧' | chpasswd",
    "ENV API_TOKEN ⟦{A12}⟧",
]

LANGUAGES = [
    *(
        f"{name}: ⟦hunter22!x⟧"
        for name in """kennwort contraseña senha wachtwoord lösenord passord adgangskode salasana hasło
        heslo jelszó parolă şifre geslo пароль парола κωδικός סיסמה पासवर्ड পাসওয়ার্ড รหัสผ่าน 密码 密碼
        パスワード 비밀번호 암호""".split()
    ),
    "mot de passe\u00a0: ⟦hunter22!⟧",
    "MOT_DE_PASSE=⟦hunter22!⟧",
    "MotDePasse = '⟦hunter22!⟧'",
    "contrasena = ⟦hunter22⟧",
    "contrasen\u0303a = ⟦hunter22⟧",
    "كلمة المرور: ⟦hunter22⟧",
    "رمز عبور: ⟦hunter22⟧",
    "Mật khẩu wifi: ⟦hunter22⟧",
    "Passwort für den Router: ⟦hunter22⟧",
    "Пароль от роутера: ⟦hunter22⟧",
    "la contraseña es ⟦Hunter22!x⟧",
    "密码是⟦Hunter22!x⟧",
    "密码为：⟦Hunter22!x⟧",
    "パスワードは⟦Hunter22!x⟧です",
    "API-Schlüssel: ⟦{A16}⟧",
    "clé d'API: ⟦{A16}⟧",
    "ключ API: ⟦{A16}⟧",
    "API 密钥：⟦{A16}⟧",
    "トークン: ⟦{A16}⟧",
]

STRUCTURES = [
    "| host | user | password |\n|---|---|---|\n| heron | ann | ⟦hunter22!⟧ |",
    "| Dienst | Kennwort |\n|:--|:--|\n| NAS | `⟦hunter22⟧` |",
    "| name | api key |\n| --- | --- |\n| prod | ⟦{A16}⟧ |",
    "name,login,password\nann,ann@x.org,⟦hunter22⟧",
    '"site","user","password"\n"x.org","ann","⟦hunter22!⟧"',
    "service;user;passwort\nrouter;admin;⟦hunter22⟧",
    "host\tuser\tpassword\nheron\tann\t⟦hunter22⟧",
    "password: >-\n  ⟦hunter22⟧",
    "secret: |\n    ⟦{A16}⟧",
    'variable "db_password" {\n  type = string\n  default = "⟦hunter22⟧"\n}',
    "<key>DatabasePassword</key>\n<string>⟦hunter22⟧</string>",
    '<entry key="password">⟦hunter22⟧</entry>',
    "define('DB_PASSWORD', '⟦hunter22⟧');",
    'setProperty("javax.net.ssl.keyStorePassword", "⟦hunter22⟧");',
    'let apiKey: String = "⟦{A16}⟧"',
    '"apiKey" => "⟦{A16}⟧"',
    "user: joe / pass: ⟦hunter22⟧",
    "(joe@example.org, pw: ⟦hunter22⟧)",
    "password → ⟦hunter22⟧",
    "password - ⟦Hunter22!x⟧",
    "creds are joe:⟦hunter22!x⟧",
    "admin/⟦hunter22!x⟧ for the printer",
    "WIFI:S:home;T:WPA;P:⟦swordfish⟧;;",
    "jdbc:oracle:thin:scott/⟦swordfish⟧@//db:1521/x",
    "    Key Content            : ⟦hunter22⟧",
    "master.key: ⟦{H32}⟧",
    "spend key: ⟦{H64}⟧",
]

TOKENS = """
    squ_{H40} rpa_Q7RT2MX9KLW4ZB1VC8NS5HD3Q7RT2MX9 rnd_{A28} zt_live_{A24} rzp_live_{A14} acme-{A32} vercel_{A24} fhm_{A40}
    A3-Q7RT2M-X9KLW4-ZB1VC-8NS5H-D3Q7R-T2MX9 FLWSECK_TEST-{H32}-X sha256~{A43} api_org_{B34} pat.{A22}.{A24}.{A20} sk_prod_{A24}
    EAAA{A60} s.{A24} cmVmdGtu{A56} eyJrIjoi{A80} fio-u-{A64} 4b1d{A38} BSA{A28} xprv{A107} nsec1{A58} tok_{A24}
""".split()  # fmt: skip

PRIVATE_KEYS = [
    "    0→⟦-----BEGIN RSA {P} KEY-----\n    1→{A64}\n    2→{A64}\n    3→{A64}⟧",
    "0|⟦-----BEGIN {P} KEY-----\n1|{A64}\n2|{A64}⟧",
    "⟦{A64}\n{A64}\n{A20}==\n-----END RSA {P} KEY-----⟧",
    "...\n⟦{A70}\n{A70}\n{A7}=\n-----END OPENSSH {P} KEY-----⟧",
    "⟦-----BEGIN OpenVPN Static key V1-----\n{H32}\n{H32}\n-----END OpenVPN Static key V1-----⟧",
    "⟦0x{H64}⟧ is the private key",
]

FAMILIES = {
    "keys of services": [f"⟦{key}⟧" for key in SERVICES],
    "keys of services in sentences": [f"it is ⟦{key}⟧, and then" for key in SERVICES],
    "more keys of services": [f"it is ⟦{key}⟧, and then" for key in KEYS],
    **{
        f"constants, {form}": [form.replace("{}", name) for name in CONSTANTS]
        for form in CONSTANT_FORMS
    },
    **{f"names, {form}": [form.replace("{}", name) for name in NAMES] for form in NAME_FORMS},
    "others": OTHERS,
    "headers and addresses": HEADERS,
    "files": FILES,
    "commands": COMMANDS,
    "more commands": MORE_COMMANDS,
    "other languages": LANGUAGES,
    "tables and other structures": STRUCTURES,
    "tokens": [f"it is ⟦{token}⟧, and then" for token in TOKENS],
    "private keys": PRIVATE_KEYS,
}
FAMILIES = {
    family: [filled(row.replace("{P}", "PRIVATE")) for row in rows]
    for family, rows in FAMILIES.items()
}
SECRETS = [row for rows in FAMILIES.values() for row in rows]

INNOCENT = [
    "token = line.split()[0]",
    "token = parse(line)",
    "token = parse2(line, x2)",
    "token = tokenizer.next()",
    "max_token: 128000",
    "max_tokens=4096",
    "token: str | None = None",
    "token limit: 128k, token: 12",
    "the token count is 12",
    "PWD=/home/x",
    "OLDPWD=/var/lib/app1",
    "docker://alpine@sha256:9fceb02d0ae598e95dc970b74767f19372d61af89fceb02d0ae598e95dc970b7",
    "docker run -u 1000:1000 -p 8080:80 alpine",
    "ssh -p 2222 ann@example.com",
    "psql -p 5432 -U ann",
    "mysql -p -u root",
    "mkdir -p notes/2026",
    "private_key: ~/.ssh/id_ed25519",
    "private_key: /etc/ssl/key1.pem",
    "API_KEY_FILE=/run/secrets/key1",
    "key_path: certs/server1.pem",
    "Password: required",
    "Password: at least 8 characters",
    "password: 8-64 characters",
    "password: see 1Password",
    "password: case-sensitive",
    'password: "Enter your password"',
    '{"type": "object", "password": "string", "token": "string"}',
    "The SSH password of the GPU server is hunter2.",
    "PASS: test_login2",
    "| password | string | required |",
    "API_KEY=$OPENAI_API_KEY",
    "API_KEY=<your key here>",
    "API_KEY=your-api-key-1",
    'DB_PASSWORD="${DB_PASSWORD}"',
    "password: [redacted]",
    "password: ********",
    "TOKEN=$(cat token1.txt)",
    "--token <token1> --password $PASSWORD1",
    "--password-stdin < file2",
    "api_key = os.environ['API_KEY_1']",
    "apiKey: process.env.OPENAI_API_KEY_2",
    "secret: ${{ secrets.TOKEN_2 }}",
    "password: '{{ vault_password_1 }}'",
    "password=%s&user=%s",
    "postgres://app:$DB_PASSWORD@db/app",
    "postgres://app:${DB_PASSWORD}@db/app",
    "postgres://app:<password>@db/app",
    "https://example.com:8080/a@b",
    "ann@example.com wrote to http://localhost:11434/api/embed",
    "git@github.com:owner/repository.git",
    "PRIMARY_KEY=user_id",
    "PUBLIC_KEY=user2id",
    "sk-learn-pipeline-transformer-v2",
    "the task-0123456789abcdef is done",
    "Bearer authentication-and-authorization is explained there",
    "Authorization: required",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer <token>",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "123e4567-e89b-12d3-a456-426614174000",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBg\n-----END PUBLIC KEY-----",
    "A key must begin with -----BEGIN PRIVATE KEY-----\nand the rest of this text stays.",
    "It begins with `-----BEGIN OPENSSH PRIVATE KEY-----`; the token count is 12.",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0 ann@box",
    "at 12:30:45 on 2026-01-05",
    "key: value, secret santa: Ann, the token economy",
    "def f(password: str, api_key: str) -> None:",
    "ghost_in_the_shell and xoxo",
    "memory/2026-01-05-token-rotation.md#L12-L30",
    "src/hybrid_memory/text/analyzer_of_long_names_2.py",
    "cookie: yes",
    "NOPASSWD: ALL",
    "primary_key: user2_id, sort_key: date2",
    "<key>RunAtLoad1</key>",
    "--session-key agent:ops:incident-42",
    "password: `gateway.auth.password`",
    "login(password=user_password, token=self.token2)",
    "GROQ_API_KEY=gsk_...",
    'botToken: "123456:ABC...",',
    "| `qwen-api-key` | `coding-intl.example.com/v1` |",
    "Authorization: Bearer YOUR_SHARED_SECRET",
    "password = get_password()",
    "token: str",
    "a token is a piece of text, a key is a name, and a password is neither",
    "curl -u $USER:$PASSWORD https://example.com",
    'curl --user-agent "Browser:5" -o a:b https://example.com',
    "tar -cu a:b",
    "docker run --user 1000:1000 alpine",
    "1700000000:SomeIdentifierThatIsLongAndHasNoDigits",
    "AccountKey=account.key",
    "AccountKey=<your key>",
    "var accountKey=accountKeyFromConfig;",
    "the access key 123e4567-e89b-12d3-a456-426614174000",
    "the cache key 9fceb02d0ae598e95dc970b74767f193 is new",
    "md5 9fceb02d0ae598e95dc970b74767f193",
    "https://example.com/reset-password?lang=en&key=value",
    "--token --verbose",
    "token: token: str",
    "src/main.c:1234:5:error:expected",
    "log.txt:5432:ERROR:module:message text",
    "the application (APACHE2) and APIs",
    "1/2 of 1//2, v1.0-beta and AQ.1",
    "echo done | tee log1",
    "echo $PASSWORD | docker login --password-stdin",
    'echo "hello2" | sort',
    '"auth": "oauth2"',
    '{"auth": {"type": "basic"}, "auth": "required"}',
    "requests.get(url, auth=(user, password))",
    "auth=('$USER', '$PASSWORD')",
    "git config set user.name ann2",
    "aws configure set region eu-west-1",
    "npm config set fund false",
    "unzip -p a.zip b.txt",
    "zip -r a2.zip b",
    "lftp -u ann host2",
    "wandb login --relogin",
    "ngrok config add-authtoken $TOKEN",
    "net use Z: \\\\h\\s /user:joe /persistent:yes",
    "machine learning, login page, password policy",
    "the machine has a password manager",
    "0x9fceb02d0ae598e95dc970b74767f19372d61af89fceb02d0ae598e95dc970b7 is the hash",
    "eyJhbGciOiJIUzI1NiJ9 is how a token begins",
    "data:image/png;base64,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "9fceb02d0ae598e95dc970b74767f193 in us-east-1",
    "wpa: psk=required",
    "oauth:authorization_code",
    'Signature=invalid, response="ok"',
    "curl -u user:password https://example.com",
    "pw=1200 watts",
    "license key: GPL-3.0",
    "Cookie: consent=accepted",
    "page_token=CAoQAA9f8e7d6c5b",
    "continuation_token = 9f8e7d6c5b4a3928",
    'nextPageToken: "CiAKGjBpNDd2Nmp2Zml2cXRwYjBpOXA"',
    '**Forward Pass**: "Hello world"',
    "pass@10: 0.81",
    "token: identifier2",
    "existingSecret: postgres-auth-2",
    "La contraseña debe tener 8 caracteres",
    "contraseña: obligatoria",
    "mot de passe : peut-être",
    "пароль: см. в менеджере паролей",
    "密码：至少8位，包含数字",
    "암호화: AES-256-GCM",
    "clave: la versión 2.3 corrige esto",
    "~80 токенов = ~$0.0002",
    "password == confirm_password2",
    "password: 8+ characters",
    "password: `openssl rand -base64 24`",
    "password protected: yes2",
    '<input type="password" name="password2">',
    "proxy_pass http://127.0.0.1:18789;",
    "| Field | Type |\n|---|---|\n| password | varchar(64) |",
    "| GS037-hardcoded_password | 1 |\n| GS038-other | 1 |",
    "| user | password policy |\n|---|---|\n| ann | 12 characters |",
    "test,pass\nlogin2,true",
    "name,token_id\neth,12ab34",
    "request_id: req_011CSHoEeqs5C35K2UUqR7Fy",
    "toolu_01A09q90qw90lq917835lq9 failed",
    "order ord_01HZX3Q5R7T9V1W3X5Y7Z9A1B3",
    "sha1-9fceb02d0ae598e95dc970b74767f19372d61af8",
    "AbstractSingletonProxyFactoryBean2Factory",
    "text-embedding-3-large-256 and qwen2.5-coder-32b-instruct-q4_k_m",
    'FOREIGN KEY "FK_5c76fb7ee939fe2530374d3f75a"',
    "https://example.com/a?id=abc_q7Rt2mX9kLw4Zb1Vc8Ns5Hd3",
    "st.patrick and the 1/1000000000000000 part",
]
