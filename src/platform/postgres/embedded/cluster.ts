/**
 * The files of the embedded Postgres: where they are, and how they are made. Its access rules are here: a password
 * on every connection, and no role but the superuser in any database but its own.
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { readOrCreate } from '../../files/atomic-file.ts'
import { type Account, placeCluster } from './account.ts'
import { type Binaries, keepBinaries } from './binaries.ts'
import { SUPERUSER } from './postmaster.ts'

/** For clusters of earlier versions, too. */
const SOCKET_RULE = `local   all       ${SUPERUSER}                  scram-sha-256
`
/** The process runtime gives each deployment a database and a role of the same name: hence `sameuser`. */
const ACCESS_RULES = `# TYPE  DATABASE  USER        ADDRESS       METHOD
host    all       ${SUPERUSER}    127.0.0.1/32  scram-sha-256
host    sameuser  all         127.0.0.1/32  scram-sha-256
${SOCKET_RULE}`

/** Longest path of a Unix socket on macOS; Linux takes 107. */
const LONGEST_SOCKET_BYTES = 103

export interface Cluster {
  /** Postgres's data directory */
  data: string
  /** what the server says */
  log: string
  /** the superuser's */
  password: string
  binaries: Binaries
  /** null: our own */
  account: Account | null
  /** a path of the data directory that is short enough for clients of a socket in it; null: there is none */
  socketFolder: string | null
}

/** Environment of Postgres's programs: none of ours, which has secrets in it. */
export const ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }

/** Finds the cluster below `folder`, our DATA_DIR, or makes it. `durable`: false leaves out what only a power failure would show. */
export async function ensureCluster(folder: string, durable: boolean): Promise<Cluster> {
  const dataDir = path.resolve(folder)
  // others may pass (builds and agents have their folders in here, under another account) but not look around
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

/** On Linux a descriptor gives a long folder a short path. It stays open until the process ends: pools reconnect. */
function shortPath(folder: string): string | null {
  if (Buffer.byteLength(`${folder}/.s.PGSQL.65535`) <= LONGEST_SOCKET_BYTES) return folder
  if (process.platform !== 'linux') return null
  return `/proc/${process.pid}/fd/${fs.openSync(folder, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY)}`
}

/** Files of another major version are of no use to it, and what it says of them is in its log only. */
function refuseOtherMajor({ data, binaries }: Cluster): void {
  const major = fs.readFileSync(path.join(data, 'PG_VERSION'), 'utf8').trim()
  if (major === binaries.major) return
  throw new Error(
    `${data} is of Postgres ${major}, and this version brings Postgres ${binaries.major}: go back to the version before, make a backup there with --dumps, and restore it into an empty DATA_DIR with this one.`,
  )
}

/** Beside its place and then moved there: of several processes that do so at once, one wins and the others use its. */
async function initialize({ data, password, binaries, account }: Cluster, durable: boolean): Promise<void> {
  const draft = await mkdtemp(`${data}.init-`)
  try {
    const files = path.join(draft, 'data')
    const passwordFile = path.join(draft, 'password')
    fs.writeFileSync(passwordFile, password, { mode: 0o600 })
    if (account) for (const file of [draft, passwordFile]) fs.chownSync(file, account.uid, account.gid)
    await runInitdb(binaries.initdb, account, [
      ...['-D', files, '-U', SUPERUSER, '--auth=scram-sha-256', `--pwfile=${passwordFile}`],
      // sorts by code point on every machine, yet knows the upper and lower case of all letters
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
