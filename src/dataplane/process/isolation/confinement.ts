/**
 * Confines builds and agents when the server is root on Linux: private copies of public folders (mount and IPC namespaces) and
 * TCP ports that they can't bind (Landlock), see docs/operations.md. A chain of programs starts each of them: each one sets up
 * its part and then executes the next.
 */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { Account } from '../../../platform/postgres/embedded/account.ts'
import { CLEAN_ENV, type Launcher, NO_LAUNCHER } from '../processes/process-group.ts'

export interface Confinement {
  /** absolute paths of public folders that each build and agent start gets a private one of; empty: namespaces are unavailable */
  folders: string[]
  /** absolute paths below these folders that stay visible */
  visible: string[]
  /** inclusive ranges of TCP ports that can't be bound; empty: the kernel can't forbid it */
  ports: (readonly [low: number, high: number])[]
}

export const NO_CONFINEMENT: Confinement = { folders: [], visible: [], ports: [] }

const PUBLIC = ['/tmp', '/var/tmp', '/dev/shm', '/dev/mqueue', '/run/lock']

/** The public folders of this machine, symlinks resolved, without folders below others. */
export function publicFolders(): string[] {
  const real = [...PUBLIC, os.tmpdir()].flatMap((folder) => (fs.existsSync(folder) ? [fs.realpathSync(folder)] : []))
  return [...new Set(real)].filter((folder) => !real.some((other) => isBelow(folder, other)))
}

export const isBelow = (file: string, folder: string): boolean => file.startsWith(`${folder}${path.sep}`)

export const isPortClosed = (port: number, { ports }: Confinement): boolean =>
  ports.some(([low, high]) => port >= low && port <= high)

export const privateFolder = (folder: string, publicFolder: string): string =>
  path.join(folder, publicFolder === '/tmp' ? 'tmp' : publicFolder.slice(1).replaceAll('/', '-'))

/** Creates the private folders of a build or start in `folder`, which must be empty and closed to other accounts. */
export function makePrivateFolders(folder: string, account: Account, { folders, visible }: Confinement): void {
  for (const publicFolder of folders) {
    const own = privateFolder(folder, publicFolder)
    fs.mkdirSync(own)
    for (const file of visible) if (isBelow(file, publicFolder)) makePassable(own, path.relative(publicFolder, file))
    fs.chownSync(own, account.uid, account.gid)
    fs.chmodSync(own, 0o1777)
  }
}

function makePassable(above: string, folder: string): void {
  let at = above
  for (const name of folder.split(path.sep)) {
    at = path.join(at, name)
    fs.mkdirSync(at, { recursive: true })
    fs.chmodSync(at, 0o711)
  }
}

/**
 * `--pdeathsig` kills an agent's leader when its supervisor dies. `--no-new-privs` keeps every program it runs from gaining
 * rights. Linux only, and not every `setpriv` has both.
 */
const SETPRIV_OPTIONS = {
  ours: ['--pdeathsig', 'KILL'],
  theirs: ['--pdeathsig', 'KILL', '--no-new-privs'],
  build: ['--no-new-privs'],
}

/** Bind-mounts pairs of folders, the first over the second, up to `--`; then executes the rest. */
const BIND_MOUNTS = 'set -e; while [ "$1" != -- ]; do mount --rbind "$1" "$2"; shift 2; done; shift; exec "$@"'

/**
 * Uses Landlock to forbid binding the TCP ports of the first argument (`2024,3100-3999`), then executes the rest. Landlock rules
 * only allow, so every other port gets a rule. The system call numbers are the same on all architectures: create_ruleset (444),
 * add_rule (445), restrict_self (446), see landlock(7).
 */
const CLOSE_PORTS = `
my %closed = map { my ($low, $high) = split /-/; map { $_ => 1 } $low .. $high // $low } split /,/, shift;
my $bind_tcp = pack 'QQ', 0, 1;
my $rules = syscall 444, $bind_tcp, 16, 0;
die "landlock: $!" if $rules < 0;
for my $port (0 .. 65535) {
  next if $closed{$port};
  my $allowed = pack 'QQ', 1, $port;
  syscall(445, $rules, 2, $allowed, 0) == 0 or die "landlock: $!";
}
syscall(446, $rules, 0) == 0 or die "landlock: $!";
exec {$ARGV[0]} @ARGV or die "$ARGV[0]: $!";
`

export interface ConfinedStart {
  account: Account
  confinement: Confinement
  folder: string
}

/** `ours`: for our own programs. Without `confined` the caller chooses the account. */
export function launcherFor(kind: keyof typeof SETPRIV_OPTIONS, confined: ConfinedStart | null): Launcher {
  const setpriv = programSupporting('setpriv', SETPRIV_OPTIONS[kind])
  if (!setpriv) return NO_LAUNCHER
  if (!confined) return { programs: [setpriv, ...SETPRIV_OPTIONS[kind]], asRoot: false }
  const { account, confinement } = confined
  const identity = ['--reuid', String(account.uid), '--regid', String(account.gid), '--clear-groups']
  const ports = confinement.ports.map(([low, high]) => `${low}-${high}`).join(',')
  const programs = [
    ...(confinement.folders.length > 0 ? namespaces(confined) : []),
    ...[setpriv, ...identity, ...SETPRIV_OPTIONS[kind]],
    ...(ports ? [requireProgram('perl'), '-e', CLOSE_PORTS, ports] : []),
  ]
  return { programs, asRoot: true }
}

function namespaces({ folder, confinement: { folders, visible } }: ConfinedStart): string[] {
  // mount visible files into the private folders first: these then cover the originals
  const inside = folders.flatMap((publicFolder) =>
    visible
      .filter((file) => isBelow(file, publicFolder))
      .flatMap((file) => [file, path.join(privateFolder(folder, publicFolder), path.relative(publicFolder, file))]),
  )
  const covers = folders.flatMap((publicFolder) => [privateFolder(folder, publicFolder), publicFolder])
  const unshare = [requireProgram('unshare'), '--mount', '--ipc', '--propagation', 'slave']
  return [...unshare, '/bin/sh', '-c', BIND_MOUNTS, 'sh', ...inside, ...covers, '--']
}

function requireProgram(name: string): string {
  const file = findProgram(name)
  if (file === undefined) throw new Error(`The program ${name} is missing`)
  return file
}

export const findProgram = (name: string): string | undefined =>
  CLEAN_ENV.PATH.split(':')
    .map((folder) => path.join(folder, name))
    .find((file) => fs.existsSync(file))

const found = new Map<string, string | null>()

function programSupporting(name: string, options: string[]): string | null {
  const key = [name, ...options].join(' ')
  const known = found.get(key)
  if (known !== undefined) return known
  const file = findProgram(name)
  const works = file && runs(file, [...options, 'true']) ? file : null
  found.set(key, works)
  return works
}

function runs(file: string, args: string[]): boolean {
  try {
    execFileSync(file, args, { stdio: 'ignore', env: CLEAN_ENV })
    return true
  } catch {
    return false
  }
}

interface ConfinementOptions {
  /** an account of builds and agents; null: they run as the server's account, which can't be confined */
  account: Account | null
  shared: string
  node: string
  ports: Confinement['ports']
  warn: (line: string) => void
}

/** Tries each kind of confinement. Calls `warn` with one line for each that this machine does not allow. */
export function findConfinement({ account, shared, node, ports, warn }: ConfinementOptions): Confinement {
  if (!account || process.platform !== 'linux') return NO_CONFINEMENT
  const folders = publicFolders()
  const real = [shared, node].map((folder) => fs.realpathSync(folder))
  const visible = real.filter((file) => folders.some((folder) => isBelow(file, folder)))
  const found = { ...NO_CONFINEMENT }
  if (!real.some((file) => folders.includes(file)) && works(shared, account, { folders, visible, ports: [] }))
    Object.assign(found, { folders, visible })
  else
    warn(`Deployments share ${folders.join(', ')}: this root user can't create mount namespaces (docs/operations.md)`)
  if (works(shared, account, { ...NO_CONFINEMENT, ports })) found.ports = ports
  else warn('Agents can bind any TCP port: perl, or Landlock of Linux 6.7, is missing (docs/operations.md)')
  return found
}

function works(place: string, account: Account, confinement: Confinement): boolean {
  const folder = fs.mkdtempSync(path.join(place, '.confinement-'))
  try {
    makePrivateFolders(folder, account, confinement)
    const { programs, asRoot } = launcherFor('build', { account, confinement, folder })
    const [program, ...args] = [...programs, '/bin/true']
    if (asRoot) execFileSync(program!, args, { stdio: 'ignore', env: CLEAN_ENV, cwd: '/' })
    return asRoot
  } catch {
    return false
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}
