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
    '"{}": "⟦{A12}⟧"',
]
NAMES = """
    password passwd passphrase dbPassword db_password clientSecret client_secret apiKey api_key api-key access_token accessToken
    auth_token refreshToken SecretAccessKey secretKey encryptionKey privateKey signing_key AccountKey credentials
""".split()
NAME_FORMS = [
    "{}: ⟦{A12}⟧",
    "**{}:** ⟦{A12}⟧",
    "?{}=⟦{A12}⟧&user=ann",
]

OTHERS = [
    '{"Version": 1, "SessionToken": "⟦{A60}⟧"}',
    "API_KEY = ⟦hunter22x⟧",
    'HASS_TOKEN="⟦quoted value with spaces⟧"',
    "https://x.blob.core.windows.net/c?sv=2022-11-02&sp=r&sig=⟦{A40}%3D⟧",
    "curl -u ann:⟦hunter22⟧ https://example.com",
    "curl --user 'ann:⟦hunter22⟧' https://example.com",
    "sshpass -p ⟦hunter22⟧ ssh -p 2222 root@host",
    "docker login -u ann -p ⟦hunter22⟧ registry.example.com",
    "mysql -u root -p⟦hunter22⟧ app",
    "mysql --password=⟦swordfish⟧ -u root",
    "redis-cli -h host -a ⟦hunter22⟧ ping",
    "mongosh -u ann -p ⟦hunter22⟧",
    "ldapsearch -D cn=admin -w ⟦hunter22⟧",
    "openssl rsa -in a.pem -passin pass:⟦swordfish⟧",
    "tool --api-key ⟦a1b2c3d4⟧ run",
    "ALTER USER ann WITH PASSWORD '⟦swordfish⟧';",
    "CREATE USER ann IDENTIFIED BY '⟦swordfish⟧';",
    "_auth=⟦{A24}==⟧",
    "**Password:** ⟦x1⟧",
    "| Password | ⟦hunter22⟧ |",
    "<b>Password:</b> ⟦hunter22⟧",
    "<tr><td>Password</td><td>⟦hunter22⟧</td></tr>",
    "<password>⟦x⟧</password>",
    '<add key="Password" value="⟦hunter22⟧"/>',
    "password: ⟦correct-horse-battery⟧",
    "Password: ⟦Zebra!crossing⟧",
    "{ user: 'ann', pass: '⟦swordfish⟧' }",
    "postgres://app:⟦pa/ss1⟧@db/app",
    "redis://:⟦hunter22⟧@cache:6379",
    "https://⟦{A40}⟧@github.com/ann/x.git",
    "https://hooks.slack.com/services/⟦T{A8}/B{A8}/{A24}⟧",
    "https://discord.com/api/webhooks/⟦1234567890/{A60}⟧",
    "curl -H 'Authorization: Bearer ⟦{A40}⟧'",
    "use Bearer ⟦{B32}⟧ for it",
    "https://x.webhook.office.com/⟦webhookb2/{H32}@{H32}/IncomingWebhook/{H32}⟧",
    "PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 2⟦\n{A64}\n{A64}⟧\nPrivate-MAC: x",
    "Authorization: Basic ⟦{A16}==⟧",
    "Cookie: ⟦session={A32}; theme=dark⟧",
    "ann:⟦$2y$10${A53}⟧",
    "https://api.telegram.org/bot⟦7123456789:AAH{A32}⟧/getMe",
    "AccountName=a;AccountKey=⟦{B20}+/{B20}==⟧;EndpointSuffix=core.windows.net",
    "AccountKey=⟦{B86}⟧",
    "Client('⟦AC{H32}', '{H32}⟧')",
    "the Twilio auth token ⟦{H32}⟧ was rotated",
    "client ⟦{A3}8Q~{A34}⟧ is ours",
    r'"quoted\n⟦ghp_{A36}⟧\n"',
    "mnemonic: ⟦" + " ".join(["legal", "winner", "thank", "year", "wave", "sausage", "worth", "useful", "legal", "winner", "thank", "yellow"]) + "⟧",
    "⟦-----BEGIN {P} KEY-----\n{A64}\n{A64}\n{A20}==\n-----END {P} KEY-----⟧\nDone.",
    "⟦-----BEGIN EC {P} KEY-----\n> {A64}\n> {A64}\n{A7}=⟧\nand so on",
]  # fmt: skip

# The shapes that other scanners know, and what they found in texts that had been masked
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
    "$ANSIBLE_VAULT;1.1;AES256⟦\n{H80}\n{H80}⟧\nend",
]

COMMANDS = [
    "aws configure set aws_secret_access_key ⟦{A40}⟧",
    "⟦AKIAQX7RT2MX9KLW4ZB1 / {A40}⟧",
    "wandb login ⟦{H40}⟧",
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
]

MORE_COMMANDS = [
    "curl -b 'session=⟦{H20}⟧' https://x.org",
    "http -a joe:⟦swordfish⟧ https://x.org",
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
]

LANGUAGES = [  # each name alone is in test_redaction.py
    "contrasena = ⟦hunter22⟧",
    "كلمة المرور: ⟦hunter22⟧",
    "رمز عبور: ⟦hunter22⟧",
    "Mật khẩu wifi: ⟦hunter22⟧",
    "パスワードは⟦Hunter22!x⟧です",
    "API-Schlüssel: ⟦{A16}⟧",
    "clé d'API: ⟦{A16}⟧",
    "ключ API: ⟦{A16}⟧",
    "API 密钥：⟦{A16}⟧",
    "トークン: ⟦{A16}⟧",
]

SENTENCES = [
    "hasło do wifi to ⟦Bigos_1986⟧",
    "пароль от вайфая — ⟦Samovar_77⟧",
    "账号 admin 密码 ⟦Mapo!d0ufu⟧",
    "PW fürs Backup: ⟦Tr3ppe-auf⟧",
    "API key for production: ⟦{A18}⟧",
    "FTP-Zugang: ann / ⟦Ftp!Biber9⟧",
    "net user ann ⟦N3tUser!x⟧ /add",
    'api.WithPassword("⟦swordfish⟧")',
    "The cabin uses ⟦Fjord-Sauna-44⟧ as its password.",
    "log in as deploy with ⟦Xk29!vela⟧",
    "user root, password ⟦toor-but-better1⟧ (change it!)",
    "login: svc-mail / ⟦q8Zt-44mm⟧",
    "my PIN is ⟦4917⟧, as always",
    "SIM PUK: ⟦48213377⟧",
    "alarm code for the office: ⟦7731#⟧",
    "今の暗証番号は⟦7391⟧です",
    "The API token from Monday is ⟦zx81-9f2c77ab44d0⟧.",
    "WLAN-Schlüssel Ferienhaus: ⟦Dünen-Gras-2025⟧",
    "Code wifi de l'hôtel : ⟦bienvenue2291⟧",
    "Le nouveau mdp du NAS, c'est ⟦Croissant!42⟧",
    "Mijn wachtwoord voor de krant is nu ⟦Fiets-bel-77⟧",
    "Nowe hasło do banku brzmi ⟦Żubr_Puszcza7⟧",
    "Мой пароль от почты был ⟦Solnce-2018x⟧",
    "Sunucunun şifresi ⟦Lale+Boğaz5⟧ oldu",
    "A szerver jelszava ⟦Duna!Part6⟧",
    "كلمة مرور الخادم هي ⟦Nakhla-55!⟧",
    "סיסמה לשרת היא ⟦Zayit_77b⟧",
    "सर्वर का पासवर्ड ⟦Mor#Pankh9⟧ है",
    "서버 비밀번호는 ⟦Hanok_Gaon3⟧입니다",
    "net use Z: \\\\srv\\share ⟦Wint3r!coat⟧ /user:ann",
    "requirepass ⟦r3dis-Tulip⟧",
    "snmp-server community ⟦n0tPubl1c⟧ RO",
    'smtp.login("mailer@example.org", "⟦sm7p-Feather⟧")',
    '$db = new mysqli("localhost", "app", "⟦mysq1i-Fog⟧", "shop");',
    'DriverManager.getConnection(url, "sa", "⟦h2-Db-Pw9⟧")',
    'psk="⟦my home wifi 42⟧"',
    "recovery codes: ⟦8f2k-19dm 77xq-p02c lm3v-66ta⟧",
    "Backup codes:\n- ⟦4821-9931\n- 7710-2284\n- 9035-1162⟧",
]

STRUCTURES = [
    "name,login,password\nann,ann@x.org,⟦hunter22⟧",
    "| Dienst | Kennwort |\n|:--|:--|\n| NAS | `⟦hunter22⟧` |",
    "| name | api key |\n| --- | --- |\n| prod | ⟦{A16}⟧ |",
    "password: >-\n  ⟦hunter22⟧",
    'variable "db_password" {\n  type = string\n  default = "⟦hunter22⟧"\n}',
    "<key>DatabasePassword</key>\n<string>⟦hunter22⟧</string>",
    '<entry key="password">⟦hunter22⟧</entry>',
    "define('DB_PASSWORD', '⟦hunter22⟧');",
    "(joe@example.org, pw: ⟦hunter22⟧)",
    "creds are joe:⟦hunter22!x⟧",
    "admin/⟦hunter22!x⟧ for the printer",
    "WIFI:S:home;T:WPA;P:⟦swordfish⟧;;",
    "jdbc:oracle:thin:scott/⟦swordfish⟧@//db:1521/x",
    "    Key Content            : ⟦hunter22⟧",
    "master.key: ⟦{H32}⟧",
    "spend key: ⟦{H64}⟧",
]

NOTES = [
    "shop;user;pass\nbakery;ann;⟦r0lling!Pin⟧",
    "The old password of the scanner leaked. The new one is ⟦Heron_Pond31⟧.",
    "We changed the passphrase last week, it is now ⟦violet-anchor-lamp-7⟧",
    "here is the API key\n\n    ⟦b81c0e66d2f35b7a8e13⟧",
    "The password of the test server:\n```\n⟦M0ntag!Regen⟧\n```",
    'Password of the station wifi is "⟦sandpiper-44⟧", the sticker is on the fridge.',
    'restic -r /b --password-command "echo ⟦lilac-Drum-4⟧" snapshots',
    "borg create --passcommand 'printf ⟦swordfish⟧' ::now ~",
    "The new one is ⟦Reed_Lamp62⟧, the old password no longer works.",
    "Das neue ist ⟦Reed_Lamp62⟧, das alte Passwort gilt nicht mehr",
    "le nouveau est ⟦Reed_Lamp62⟧, l'ancien mot de passe ne marche plus",
    "mqtt_tool -h broker -P ⟦Gr4nit!lamp⟧ -t x",
    "I reset the password of the printer today (⟦Kn0ten!Blau⟧), tell Ann.",
]

TOKENS = """
    squ_{H40} rpa_Q7RT2MX9KLW4ZB1VC8NS5HD3Q7RT2MX9 rnd_{A28} zt_live_{A24} rzp_live_{A14} acme-{A32} vercel_{A24} fhm_{A40}
    A3-Q7RT2M-X9KLW4-ZB1VC-8NS5H-D3Q7R-T2MX9 FLWSECK_TEST-{H32}-X sha256~{A43} api_org_{B34} pat.{A22}.{A24}.{A20} sk_prod_{A24}
    EAAA{A60} s.{A24} cmVmdGtu{A56} eyJrIjoi{A80} fio-u-{A64} 4b1d{A38} BSA{A28} xprv{A107} nsec1{A58} tok_{A24}
""".split()  # fmt: skip

PRIVATE_KEYS = [
    "0|⟦-----BEGIN {P} KEY-----\n1|{A64}\n2|{A64}⟧",
    "⟦{A64}\n{A64}\n{A20}==\n-----END RSA {P} KEY-----⟧",
    "...\n⟦{A70}\n{A70}\n{A7}=\n-----END OPENSSH {P} KEY-----⟧",
    "⟦-----BEGIN OpenVPN Static key V1-----\n{H32}\n{H32}\n-----END OpenVPN Static key V1-----⟧",
    "⟦0x{H64}⟧ is the private key",
]

FAMILIES = {
    "keys of services": [f"it is ⟦{key}⟧, and then" for key in SERVICES],
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
    "sentences": SENTENCES,
    "tables and other structures": STRUCTURES,
    "tables and sentences of notes": NOTES,
    "tokens": [f"it is ⟦{token}⟧, and then" for token in TOKENS],
    "private keys": PRIVATE_KEYS,
}
FAMILIES = {
    family: [filled(row.replace("{P}", "PRIVATE")) for row in rows]
    for family, rows in FAMILIES.items()
}
SECRETS = [row for rows in FAMILIES.values() for row in rows]

INNOCENT = [
    "| service | login | password |\n|---|---|---|\n| build | deploy | in 1Password |",
    "Entry code coverage is 8712 lines.",
    "mosquitto_pub -h broker -P $MQTT_PASSWORD -t a",
    "restic --password-command 'echo $RESTIC_PASSWORD' snapshots",
    "The new one is a Pixel8a, the old password manager stays.",
    "Here is the token bucket:\n```\nrefill(bucket2)\n```",
    '"password": "The password must have 8 characters"',
    "a hashed password has a 32-bit random salt, limited to 1024 bytes",
    "scrypt('password', 'salt', 64, { N: 1024 });",
    "The old password is in the tree of\ncontrib/modules/smbk5pwd/Makefile",
    "ihr Passwort \\u00e4ndern k\\u00f6nnen",
    'call("search", {"query": "password"})).content[0].text',
    "The password is hashed with Argon2id (m=64MB, t=3).",
    "password analogous to `web3.eth.personal.sign`",
    "password: !vault |",
    'password = hashlib.sha256(b"x").hexdigest()',
    "passwords changed in: 2024",
    "the commit about the password is a1b2c3d4e5f6",
    "the password of the printer is in the drawer of Room2b",
    "password reset for ann1e@example.org",
    "1Password → item2b",
    "we rotated the password on i-0a1b2c3d4e5f67890",
    'data-password="toggle"',
    "| `--password` | E2E-encryption, asked if missing |",
    "withdrawal_credentials: Bytes32",
    "StorageKey = uint256",
    "GITHUB_TOKEN=ghp_xxxx",
    "AKIAIOSFODNN7EXAMPLE",
    "`engine_getPayloadBodiesByHashV2`",
    "postgres://user:password@host/db",
    "src/api/webhooks/whatsapp-onboarding/route2.ts",
    "enode://9e1096aa59862a6f164994cb5cb16f51@10.0.0.1",
    "clave: `pageScrollX=0`",
    "token = line.split()[0]",
    "PWD=/home/x",
    "mkdir -p notes/2026",
    "private_key: ~/.ssh/id_ed25519",
    '{"type": "object", "password": "string", "token": "string"}',
    "PASS: test_login2",
    "API_KEY=$OPENAI_API_KEY",
    "API_KEY=your-api-key-1",
    'DB_PASSWORD="${DB_PASSWORD}"',
    "TOKEN=$(cat token1.txt)",
    "--token <token1> --password $PASSWORD1",
    "apiKey: process.env.OPENAI_API_KEY_2",
    "password: '{{ vault_password_1 }}'",
    "password=%s&user=%s",
    "https://example.com:8080/a@b",
    "PRIMARY_KEY=user_id",
    "Bearer authentication-and-authorization is explained there",
    "Authorization: required",
    "login(password=user_password, token=self.token2)",
    "GROQ_API_KEY=gsk_...",
    'botToken: "123456:ABC...",',
    "| `qwen-api-key` | `coding-intl.example.com/v1` |",
    "1700000000:SomeIdentifierThatIsLongAndHasNoDigits",
    "AccountKey=account.key",
    "var accountKey=accountKeyFromConfig;",
    "the access key 123e4567-e89b-12d3-a456-426614174000",
    "log.txt:5432:ERROR:module:message text",
    '"auth": "oauth2"',
    "net use Z: \\\\h\\s /user:joe /persistent:yes",
    "eyJhbGciOiJIUzI1NiJ9 is how a token begins",
    "wpa: psk=required",
    "curl -u user:password https://example.com",
    "license key: GPL-3.0",
    "Cookie: consent=accepted",
    "page_token=CAoQAA9f8e7d6c5b",
    '**Forward Pass**: "Hello world"',
    "existingSecret: postgres-auth-2",
    "contraseña: obligatoria",
    "mot de passe : peut-être",
    "암호화: AES-256-GCM",
    "password == confirm_password2",
    "password: 8+ characters",
    "password: `openssl rand -base64 24`",
    "password protected: yes2",
    "proxy_pass http://127.0.0.1:18789;",
    "| GS037-hardcoded_password | 1 |\n| GS038-other | 1 |",
    "test,pass\nlogin2,true",
    "name,token_id\neth,12ab34",
    "request_id: req_011CSHoEeqs5C35K2UUqR7Fy",
    "toolu_01A09q90qw90lq917835lq9 failed",
    "order ord_01HZX3Q5R7T9V1W3X5Y7Z9A1B3",
]
