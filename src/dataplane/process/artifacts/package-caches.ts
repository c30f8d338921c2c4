/** Limits package managers' caches in a deployment's HOME, which speed up its next build. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Account } from '../../../platform/postgres/embedded/account.ts'

const exec = promisify(execFile)

const MAX_CACHE_MB = 1000
/** a finished build does not wait longer; the next build checks again */
const TIMEOUT_MS = 20_000

/** Run under the deployment's account, so a symlink can only lead to files that the account could remove anyway. */
const EMPTY_IF_LARGE = `cd -- "$1" || exit
set -- .npm/_cacache .cache/pip .cache/uv .cache/yarn .cache/pnpm .yarn/berry/cache .local/share/pnpm/store
used=$(du -sm -- "$@" 2>/dev/null | awk '{ sum += $1 } END { print sum + 0 }')
[ "$used" -le ${MAX_CACHE_MB} ] || rm -rf -- "$@"`

/** `account`: owner of the folder; null: the server's. Never throws. */
export async function limitCaches(home: string, account: Account | null): Promise<void> {
  await exec('/bin/sh', ['-c', EMPTY_IF_LARGE, 'sh', home], {
    ...account,
    cwd: '/',
    env: { PATH: '/usr/bin:/bin' },
    timeout: TIMEOUT_MS,
    killSignal: 'SIGKILL',
  }).catch(() => undefined)
}
