/**
 * `npm run chaos -- compose`: podman-compose runs deploy/compose.yaml itself. Images of this machine's Postgres and Caddy replace
 * those of the registry under the same names.
 */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { keepBinaries } from '../../src/platform/postgres/embedded/cluster.ts'
import { removeFolder } from '../support/data-dir.ts'
import { copyLibraries, importImage, machineRoot } from '../support/engine/machine-image.ts'
import { closeRealEngine, NODE, realEnvironment, whyNot } from '../support/engine/real-engine.ts'
import { buildServerImage } from '../support/engine/server-image.ts'
import { pack } from '../support/packages.ts'
import { cli, ROOT, temporaryFolder } from '../support/process.ts'
import { getOverTls } from '../support/tls.ts'

const execute = promisify(execFile)
/** What the script of the official image does: creates the cluster as another account than root, with the password of the file. */
const POSTGRES_ENTRYPOINT = `set -eu
if [ "$1" = root ]; then
  chown 999:999 "$PGDATA"
  exec setpriv --reuid 999 --regid 999 --clear-groups sh /entrypoint.sh postgres
fi
if [ ! -e "$PGDATA/PG_VERSION" ]; then
  initdb --username "$POSTGRES_USER" --pwfile "$POSTGRES_PASSWORD_FILE" --auth scram-sha-256 --encoding UTF8 --locale C
  echo "CREATE DATABASE $POSTGRES_USER" | postgres --single -D "$PGDATA" postgres
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
fi
exec postgres -h '*' -k ''
`
/** Published by compose.yaml. */
const PORTS = [80, 443]

export async function composeFile(): Promise<boolean> {
  const folder = await temporaryFolder()
  const at = (name: string) => path.join(folder.path, name)
  fs.mkdirSync(at('engine'))
  const env = realEnvironment(at('engine'))
  const podman = async (...args: string[]) => (await execute('podman', args, { env })).stdout.trim()
  try {
    const lacking = await whyNotCompose(env, at('engine'), podman)
    if (lacking) {
      console.log(`  skipped: ${lacking}`)
      return true
    }
    await pack()
    await buildServerImage(env, at('package'), 'localhost/pilothouse:latest')
    await importPostgres(env, at('postgres'))
    machineRoot(at('caddy'), ['caddy'])
    const places = ['ENV PATH=/bin', 'ENV XDG_DATA_HOME=/data', 'ENV XDG_CONFIG_HOME=/config']
    await importImage('podman', env, at('caddy'), 'docker.io/library/caddy:2', places)
    return await useComposeFile(at, env, podman)
  } finally {
    closeRealEngine('podman', env)
    await removeFolder(folder.path)
  }
}

type Podman = (...args: string[]) => Promise<string>

/** Returns the reason if this machine can't run the file. */
async function whyNotCompose(env: Record<string, string>, folder: string, podman: Podman): Promise<string | null> {
  const noPodman = await whyNot('podman', env, folder)
  if (noPodman) return `podman: ${noPodman}`
  for (const program of ['podman-compose', 'caddy']) {
    const found = await execute('sh', ['-c', `command -v ${program}`], { env }).catch(() => null)
    if (!found) return `${program} is not installed`
  }
  for (const port of PORTS) if (!(await isFree(port))) return `port ${port} is in use`
  try {
    await podman('network', 'create', 'probe')
    // needs netavark, aardvark-dns and catatonit
    const resolve = "require('dns').promises.lookup('itself').catch(() => process.exit(1))"
    const inNetwork = ['--network', 'probe', '--network-alias', 'itself', '--log-driver', 'none']
    await podman('run', '--rm', '--init', ...inNetwork, NODE, 'node', '-e', resolve)
    await podman('network', 'rm', 'probe')
    return null
  } catch (error) {
    return `a container with an init process in a network with names: ${(error as Error).message.trim().split('\n').at(-1)}`
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = net.createServer()
  const listening = once(probe, 'listening')
  probe.listen(port)
  return listening.then(
    () => {
      probe.close()
      return true
    },
    () => false,
  )
}

/** An image with the interface of the official one, as far as compose.yaml uses it. */
async function importPostgres(env: Record<string, string>, root: string): Promise<void> {
  machineRoot(root, ['sh', 'chown', 'setpriv'])
  const programs = `${root}-programs`
  fs.mkdirSync(programs)
  const binaries = await keepBinaries(programs)
  fs.cpSync(binaries.folder, path.join(root, 'postgres'), { recursive: true, verbatimSymlinks: true })
  copyLibraries(root, [binaries.postgres, binaries.initdb])
  fs.writeFileSync(path.join(root, 'etc/passwd'), 'postgres:x:999:999::/var/lib/postgresql:/bin/sh\n')
  fs.writeFileSync(path.join(root, 'entrypoint.sh'), POSTGRES_ENTRYPOINT)
  const data = '/var/lib/postgresql/data'
  fs.mkdirSync(path.join(root, data), { recursive: true })
  const settings = ['ENV PATH=/postgres/bin:/bin', `ENV PGDATA=${data}`, `VOLUME ${data}`, 'STOPSIGNAL SIGINT']
  const entrypoint = 'ENTRYPOINT ["sh","/entrypoint.sh","root"]'
  await importImage('podman', env, root, 'docker.io/library/postgres:17', [...settings, entrypoint])
}

async function useComposeFile(
  at: (name: string) => string,
  env: Record<string, string>,
  podman: Podman,
): Promise<boolean> {
  const deploy = at('deploy')
  // the secrets are written next to the file
  for (const name of ['compose.yaml', 'compose-secrets.sh', 'Caddyfile'])
    fs.cpSync(path.join(ROOT, 'deploy', name), path.join(deploy, name))
  await execute('sh', [path.join(deploy, 'compose-secrets.sh')])
  const compose = (...args: string[]) =>
    execute('podman-compose', ['-f', 'compose.yaml', ...args], { env, cwd: deploy })
  let right = true
  const check = (what: string, is: boolean) => {
    console.log(`  ${what}: ${is ? 'yes' : 'NO'}`)
    right &&= is
  }
  const key = fs.readFileSync(path.join(deploy, 'secrets/api-key'), 'utf8').trim()
  const authority = at('root.crt')
  const pilothouse = (...args: string[]) => cli(args, { XDG_CONFIG_HOME: at('config'), NODE_EXTRA_CA_CERTS: authority })
  /** Waits until the server answers. */
  async function login(): Promise<boolean> {
    const { code, stderr } = await pilothouse('login', '--url', 'https://localhost', '--key', key)
    if (code !== 0) console.log(stderr)
    return code === 0
  }
  try {
    await compose('up', '--detach')
    await until(() => podman('cp', 'deploy_caddy_1:/data/caddy/pki/authorities/local/root.crt', authority))
    check('logs in with the key of the file, through TLS of Caddy’s own authority', await login())
    const demo = path.join(ROOT, 'src/cli/demo-agent')
    const { code, stdout, stderr } = await pilothouse('deploy', 'composed', '--dir', demo, '--json')
    if (code !== 0) throw new Error(stderr)
    const { url } = JSON.parse(stdout) as { url: string }
    async function answers(): Promise<boolean> {
      const answer = await until(async () => {
        const response = await getOverTls(url, fs.readFileSync(authority))
        if (response.statusCode !== 200) throw new Error(`${url} answers ${response.statusCode}`)
        return text(response)
      })
      return answer === 'Hello from version 1\n'
    }
    check(`deploys a folder whose agent answers at ${url}`, await answers())
    await podman('healthcheck', 'run', 'deploy_server_1')
    const agents = await podman('exec', 'deploy_server_1', 'sh', '-c', 'cat /proc/1/status; touch /x 2>&1 || true')
    check('runs as the user 1000 on a read-only file system', /^Uid:\s+1000\s[\s\S]*Read-only/m.test(agents))
    const wrong = await fetch('http://localhost/', { redirect: 'manual' })
    check('redirects http to https', wrong.status === 308)

    await compose('restart')
    check('keeps the deployment after a restart of the containers', (await login()) && (await answers()))
    await compose('down')
    check('leaves no container after down', (await podman('ps', '--all', '--quiet')) === '')
    await compose('up', '--detach')
    check('keeps the deployment in new containers', (await login()) && (await answers()))
    await compose('down', '--volumes')
    const left = [await podman('ps', '--all', '--quiet'), await podman('volume', 'ls', '--quiet')]
    check('leaves no container and no volume after down --volumes', left.join('') === '')
    check('leaves no port in use', (await Promise.all(PORTS.map(isFree))).every(Boolean))
    return right
  } catch (error) {
    for (const service of ['server', 'postgres', 'caddy'])
      console.log(await podman('logs', '--tail', '20', `deploy_${service}_1`).catch(() => `no container of ${service}`))
    throw error
  } finally {
    await compose('down', '--volumes')
    await podman('network', 'rm', 'deploy_default')
  }
}

/** Repeats a call for a minute while it fails. */
async function until<T>(call: () => Promise<T>): Promise<T> {
  for (const end = Date.now() + 60_000; ; ) {
    try {
      return await call()
    } catch (error) {
      if (Date.now() > end) throw error
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  }
}
