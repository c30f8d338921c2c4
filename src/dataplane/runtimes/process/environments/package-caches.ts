/** What package managers keep in the HOME of a deployment for its next build: bounded, since nobody else clears it up. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Account } from '../../../../platform/postgres/embedded/account.ts'

const exec = promisify(execFile)

/** of all of them together; then the next build begins without */
const MAX_CACHE_MB = 1000
/** a build that is over must not wait for more; the next one looks again */
const TIMEOUT_MS = 20_000

/** Run by the account itself, so that a symlink of its own leads to nothing that it could not remove anyway. */
const EMPTY_IF_LARGE = `cd -- "$1" || exit
set -- .npm/_cacache .cache/pip .cache/uv .cache/yarn .cache/pnpm .yarn/berry/cache .local/share/pnpm/store
used=$(du -sm -- "$@" 2>/dev/null | awk '{ sum += $1 } END { print sum + 0 }')
[ "$used" -le ${MAX_CACHE_MB} ] || rm -rf -- "$@"`

/** `account`: whose the folder is; null: ours. Never throws. */
export async function limitCaches(home: string, account: Account | null): Promise<void> {
  await exec('/bin/sh', ['-c', EMPTY_IF_LARGE, 'sh', home], {
    ...account,
    cwd: '/',
    env: { PATH: '/usr/bin:/bin' },
    timeout: TIMEOUT_MS,
    killSignal: 'SIGKILL',
  }).catch(() => undefined)
}
