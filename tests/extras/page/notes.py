"""The notes of these tests."""

import base64

PICTURE = base64.b64decode(  # a red pixel
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)

JOURNAL = {
    f"journal/2026-{month:02}-{day:02}.md": (
        f"---\ntags: [{tag}]\n---\n\n# Day {month}-{day}\n\n## Standup\n\nThe {thing} was repaired on this day.\n\n- [ ] call Mira\n- [x] pay the bill\n"
    )
    for month, day, tag, thing in [
        (1, 5, "ops", "boiler"),
        (1, 9, "home", "window"),
        (2, 3, "ops", "bicycle"),
        (4, 1, "home", "roof"),
    ]
}

ATLAS = """---
title: Atlas
tags: [ops, gpu]
---

# The GPU server

Two cards with 24 GB each. Jobs are started with `sbatch`, and see [the backups](backups.md) or [[backups|that note]], [[hosts/backups#Restore a file|from here]], [[tomorrow]].

## Log in

SSH listens on port 2222, and takes keys only.

| host | free |
|---|--:|
| atlas | 12 GB |

## If it does not answer

The power button is behind the left door of the rack. More at <https://example.com/rack>.
"""

BACKUPS = """# Backups

Every night restic copies the databases to a disk in another building.

## Restore a file

`restic restore latest` brings a lost file back.
"""

LONG = "# Log\n\n" + "\n\n".join(
    f"## Entry {number}\n\nMachine {number} started again."
    + (" The zebra fan was replaced." if number == 300 else "")
    for number in range(500)
)

PARTS = (
    "# Parts\n\n## The long part\n\n"
    + "\n\n".join("A paragraph of the long part. " * 12 for _ in range(5))
    + "\n\n## The end\n\nShort.\n"
)
ARABIC = "# ملاحظات الخادم\n\n## النسخ الاحتياطي\n\nالخادم يعمل على المنفذ 2222 ويأخذ المفاتيح فقط.\n\n- أول بند\n"
JAPANESE = "# 東京の旅行\n\n## 宿泊\n\n東京のホテルは新宿駅の近くにあります。\n"

HOSTILE = """# Quokka <img src=x onerror="alert('heading')">

<script>alert("block")</script>

<svg onload="alert('svg')"><animate onbegin="alert('animate')" attributeName="x"></svg>

<iframe srcdoc="<script>alert('frame')</script>"></iframe><style>body { display: none }</style><base href="https://evil.example/">

Text <b onmouseover="alert('hover')">bold</b> <a href="javascript:alert('raw')">raw</a> <meta http-equiv="refresh" content="0;url=https://evil.example">

[script](javascript:alert('link')) [upper](JaVaScRiPt:alert('upper')) [entity](&#106;avascript:alert('entity')) [tab](<java\tscript:alert('tab')>)
[data](data:text/html,<script>alert('data')</script>) [blob](vbscript:alert('vb')) [file](file:///etc/passwd) [same](//evil.example/x)

![tracking](https://evil.example/pixel.png) ![inline](data:image/svg+xml,<svg/onload=alert('image')>) ![x](x"onerror="alert('quote'))

<javascript:alert('auto')> <https://ok.example/fine>

```html
<script>alert("fence")</script>
```

[ref]: javascript:alert('reference)
[ref] [[javascript:alert(1)|wiki]] [heading](#h-"><img src=x onerror=alert(1)>)

| <img src=x onerror=alert('cell')> | b |
|---|---|
| `<svg onload=alert(1)>` | [x](javascript:alert('table')) |

&lt;script&gt;alert("entities")&lt;/script&gt; &#60;img src=x onerror=alert(1)&#62;
"""

SLOW = (
    "# Numbat\n\n" + "*a_" * 6000 + "\n\nThe numbat is at the end.\n"
)  # exponential for a parser of markdown
DEEP = "# Bilby\n\n" + ">" * 5000 + " the bilby\n"
HUGE = "# Wombat\n\nwombat " + "x" * 150_000 + "\n\nThe end of the wombat.\n"

ENDLESS = "# Steps\n\n" + "\n\n".join(f"Step {number} was taken." for number in range(6000)) + "\n"

OBSIDIAN = """---
tags: [ops]
---

# Obsidian, all of it

See [[parts#The end|the end]], [[#Sums|the sums]], [[facts#^steam]] and ![[rack.png|120x90]]. ![remote](https://example.com/x.png)

> [!tip]- Folded **tip**
> It leads to [[facts]].

> [!warning] Mind the gap
> Text of the warning.

> [!Firewall Manager|wide]
> Named freely.

- [/] half *done*
- [-] given up

==marked **words**== and %%an inline secret%% after it.[^1]

%%
A secret of

several blocks
%%

<!-- a secret of HTML -->

`%%no secret%%`

## Sums

It costs $5 and $6, and $e^{i\\pi} + 1 = 0$.

$$
\\int_0^1 x\\,dx = \\frac{1}{2}
$$

#### Deep

```mermaid
graph TD
```

![[facts#Water]]

![[facts#^steam]]

![[missing.png]] ![[board.canvas]]

[^1]: The text of the footnote.
"""

FACTS = """# Facts

Not shown.

## Water

Steam begins at 100 degrees. ^steam

### Ice

Ice floats.

## Iron

Not shown either.
"""

ORG = """#+title: An org file
* TODO Loading the ferret :animals:
:PROPERTIES:
:ID: x
:END:
See [[https://tailscale.com/][Tailscale]], [[file:facts.md][the facts]] and https://example.org/a(b), too.
#+begin_example
cd repo
git clone ferret --mirror
#+end_example
* Unloading
** At home
The ferret is unloaded slowly.
"""

RST = """=====
Stoat
=====

The stoat reads `the docs <https://docs.python.org/>`_ daily.

Winter coat
-----------

* white
* warm
"""

TOWNS = "".join(f"# Town {number}\n\nIt has a market.\n\n" for number in range(120))

BILLS = {f"bills/{number}.md": f"# Bill {number}\n\nThe plumber sent it.\n" for number in range(25)}

NOTES = (
    JOURNAL
    | BILLS
    | {
        "endless.md": ENDLESS,
        "obsidian.md": OBSIDIAN,
        "facts.md": FACTS,
        "mirror.md": "# Mirror\n\nA gnu looks into it.\n\n![[mirror]]\n",
        "ferret.org": ORG,
        "stoat.rst": RST,
        "weasel.txt": "WEASEL\n\nIt runs   fast, see https://example.org/weasel.\n",
        "img/rack.png": PICTURE,
        "hosts/atlas.md": ATLAS,
        "hosts/backups.md": BACKUPS,
        "log.md": LONG,
        "parts.md": PARTS,
        "atlas of towns.md": TOWNS,
        "signs.md": '# Use `wombat --dig`\n\n<Step title="Dig">\n\nThe **wombat** digs.\n\n</Step>\n',
        "arabic.md": ARABIC,
        "japanese.md": JAPANESE,
        'odd # name % "q" <b>&.md': "# Odd names\n\nThe narwhal lives here.\n",
        "hostile.md": HOSTILE,
        "slow.md": SLOW,
        "deep.md": DEEP,
        "huge.md": HUGE,
    }
)
