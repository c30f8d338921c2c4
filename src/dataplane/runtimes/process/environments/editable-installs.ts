/**
 * Editable installs (`-e ./lib` of a requirements.txt) leave the path of the tree in an environment, and that is another one in
 * each run: builds and runs have copies of their own. So such a path is made one that is looked up when Python starts.
 */
import fs from 'node:fs'
import path from 'node:path'

/** In the environment of an agent whose environment was changed: the absolute root of its tree. */
export const SOURCE_VARIABLE = 'PILOTHOUSE_SOURCE'

const MARKER_FILE = 'pilothouse-editable'

/** Has `FOLLOW_SOURCE` found something in this environment? */
export const followsSource = (venv: string): boolean => fs.existsSync(path.join(venv, MARKER_FILE))

/**
 * For `python -I -c`, run by the environment's Python; its argument is the tree that was installed from. Build backends name it
 * in lines of .pth files, or as a text in a module that finds the packages.
 */
export const FOLLOW_SOURCE = `
import os, re, sys, sysconfig
site = sysconfig.get_path("purelib")
root = '__import__("os").environ.get("${SOURCE_VARIABLE}", "")'
places = "(?:%s)" % "|".join(re.escape(one) for one in {sys.argv[1], os.path.realpath(sys.argv[1])})
def is_text(line):
    return re.sub("(['\\"])" + places + "(?=[/'\\"])", lambda quote: root + " + " + quote[1], line)
def is_line(line):
    folder = re.fullmatch(places + "(/.*)?", line)
    return "import sys; sys.path.append(%s + %r)" % (root, folder[1] or "") if folder else is_text(line)
for name in os.listdir(site):
    file = os.path.join(site, name)
    if not name.endswith((".pth", ".py")) or not os.path.isfile(file):
        continue
    with open(file, encoding="utf-8", errors="surrogateescape", newline="") as found:
        lines = found.read().split("\\n")
    changed = [(is_line if name.endswith(".pth") else is_text)(line) for line in lines]
    if changed == lines:
        continue
    # not written over: it may be a hard link to a package manager's store
    os.remove(file)
    with open(file, "w", encoding="utf-8", errors="surrogateescape", newline="") as out:
        out.write("\\n".join(changed))
    open(os.path.join(sys.prefix, "${MARKER_FILE}"), "w").close()
`
