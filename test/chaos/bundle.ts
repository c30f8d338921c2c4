/**
 * `npm run chaos -- bundle`: a bundle with an image is installed, and serves an agent, where no network is
 * (docs/air-gapped.md).
 */
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { removeFolder } from '../support/data-dir.ts'
import { closeRealEngine, realEnvironment, whyNot } from '../support/engine/real-engine.ts'
import { buildServerImage } from '../support/engine/server-image.ts'
import { pack, version } from '../support/packages.ts'
import { ROOT, temporaryFolder } from '../support/process.ts'

const execute = promisify(execFile)
const IMAGE = 'localhost/pilothouse-test:bundle'
const PLATFORM = `${process.platform}-${process.arch}`

/** Runs in a network namespace without interfaces but lo. `$1`: the unpacked bundle, `$2`: a folder for the rest. */
const WITHOUT_NETWORK = `set -eu
ip link set lo up
test -z "$(ip route)"
sh "$1/install.sh" "$2/prefix"
podman run --rm --network none --log-driver none ${IMAGE} --version | sed 's/^/the image has /'
export PATH="$2/prefix/bin:$PATH" DATA_DIR="$2/data" XDG_CONFIG_HOME="$2/config" RUNTIME=process AGENTS_END_WITH_SERVER=on
export CONTROL_PLANE_API_KEY=cpk_bundle_admin_key_0123456789
pilothouse serve >"$2/serve.log" 2>&1 &
server=$!
trap 'kill $server; wait $server || true' EXIT
pilothouse login --url http://127.0.0.1:8080 --key "$CONTROL_PLANE_API_KEY"
pilothouse deploy air-gapped --dir "$2/prefix/lib/node_modules/pilothouse/src/cli/demo-agent" --json >"$2/deployed.json"
node -e 'fetch(JSON.parse(fs.readFileSync(process.argv[1])).url).then((answer) => answer.text()).then(console.log)' "$2/deployed.json"
`

export async function airGapped(): Promise<boolean> {
  const folder = await temporaryFolder()
  const at = (name: string) => path.join(folder.path, name)
  fs.mkdirSync(at('engine'))
  const env = realEnvironment(at('engine'))
  const bundle = (...args: string[]) =>
    execute('npm', ['run', 'bundle', '--', '--image', IMAGE, ...args], { cwd: ROOT, env: { ...process.env, ...env } })
  const name = `pilothouse-${version}-${PLATFORM}`
  const archive = path.join(ROOT, `dist/packages/${name}.tar.gz`)
  try {
    const lacking =
      process.getuid?.() === 0 ? await whyNot('podman', env, at('engine')) : 'only root may take the network away'
    if (lacking) {
      console.log(`  skipped: ${lacking}`)
      return true
    }
    await pack()
    await buildServerImage(env, at('package'), IMAGE)
    const other = process.arch === 'arm64' ? 'linux-x64' : 'linux-arm64'
    const refused = await bundle('--platform', other).catch(({ stderr }: { stderr: string }) => stderr)
    await bundle()
    console.log(`  bundle: ${Math.ceil(fs.statSync(archive).size / 1e6)} MB`)
    await execute('tar', ['-xzf', archive, '-C', folder.path])
    // a machine that doesn't have the image yet
    closeRealEngine('podman', env)
    const { stdout } = await execute('unshare', ['--net', 'sh', '-c', WITHOUT_NETWORK, 'sh', at(name), folder.path], {
      env,
    })
    const lines = {
      'refuses an image for another architecture': String(refused).includes(`the bundle is for ${other}`),
      'installs the server': stdout.includes(`Installed ${version} as ${at('prefix/bin/pilothouse')}`),
      'loads an image that runs': stdout.includes(`the image has ${version}`),
      'serves an agent': stdout.includes('Hello from version 1'),
    }
    for (const [what, is] of Object.entries(lines)) console.log(`  ${what}: ${is ? 'yes' : 'NO'}`)
    return Object.values(lines).every(Boolean)
  } catch (error) {
    if (fs.existsSync(at('serve.log'))) console.log(fs.readFileSync(at('serve.log'), 'utf8'))
    throw error
  } finally {
    fs.rmSync(archive, { force: true })
    closeRealEngine('podman', env)
    await removeFolder(folder.path)
  }
}
