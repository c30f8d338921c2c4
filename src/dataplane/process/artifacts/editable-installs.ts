/**
 * Makes editable installs (`-e ./lib`) work in runs. They store the build tree's absolute path, but each run has its own copy.
 * The stored path is replaced by a lookup at Python's start.
 */
import fs from 'node:fs'
import path from 'node:path'

/** Variable with the absolute root of the agent's tree; set when FOLLOW_SOURCE changed the environment. */
export const SOURCE_VARIABLE = 'PILOTHOUSE_SOURCE'

const MARKER_FILE = 'pilothouse-editable'

/** Whether `FOLLOW_SOURCE` changed this environment. */
export const followsSource = (venv: string): boolean => fs.existsSync(path.join(venv, MARKER_FILE))

/**
 * Script for `python -I -c` with the environment's Python; the argument is the build tree. Build backends store its path in lines
 * of .pth files, or as a string in a module that finds the packages.
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
