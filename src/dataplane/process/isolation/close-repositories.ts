/** Closes the folder of local repositories to other accounts: git reads it under the server's account only. */
import fs from 'node:fs'
import path from 'node:path'
import { type Account, canReach } from '../../../platform/postgres/embedded/account.ts'

/**
 * Closes the folder if it is in DATA_DIR. A folder elsewhere belongs to the operator: `warn` gets a line when every account can
 * read it. `typical`: a sample account of builds and agents; null: they use the server's.
 */
export function closeRepositories(
  { dataDir, gitDirectory, warn }: { dataDir: string; gitDirectory: string; warn?: (line: string) => void },
  typical: Account | null,
): void {
  const found = fs.statSync(gitDirectory, { throwIfNoEntry: false })
  if (!typical || !found || (found.mode & 0o005) === 0) return
  if (path.dirname(path.resolve(gitDirectory)) === path.resolve(dataDir))
    fs.chmodSync(gitDirectory, found.mode & 0o7770)
  else if (canReach(typical, gitDirectory))
    warn?.(`Every account of this machine can read GIT_DIRECTORY (${gitDirectory}), agents too: chmod o-rwx closes it`)
}
