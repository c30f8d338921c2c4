/**
 * Makes an agent server's packages and programs those of a deployment's own virtual environment, behind what it has itself: the
 * server then runs with the deployment's Python, and where both bring a package the deployment's version counts.
 */

/** For `python -I -c`, run by the environment's Python; its argument is the server's own environment. */
export const SHARE_SERVER = `
import os, sys, sysconfig
server = sys.argv[1]
site = sysconfig.get_path("purelib")
theirs = os.path.join(server, os.path.relpath(site, sys.prefix))
with open(os.path.join(site, "zz_agent_server.pth"), "w") as out:
    out.write("import site; site.addsitedir(%r)\\n" % theirs)
programs = os.path.join(server, "bin")
for name in sorted(os.listdir(programs)):
    target = os.path.join(sys.prefix, "bin", name)
    if os.path.lexists(target) or not os.path.isfile(os.path.join(programs, name)):
        continue
    with open(os.path.join(programs, name), "rb") as script:
        text = script.read(65536)
    if text.startswith(b"#!") and server.encode() in text:
        with open(target, "wb") as out:
            out.write(text.replace(server.encode(), sys.prefix.encode()))
        os.chmod(target, 0o755)
`
