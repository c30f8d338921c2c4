/** The folder of repositories: git reads it under the server's account, and nobody else has to. */
import fs from 'node:fs'
import path from 'node:path'
import { type Account, canReach } from '../../../../platform/postgres/embedded/account.ts'

/**
 * Closes it for builds and agents where it is in DATA_DIR. One that an operator has named is theirs: `note` gets a line when
 * all can read it. `typical`: one of the accounts of builds and agents; null: ours.
 */
export function closeRepositories(
  { dataDir, gitDirectory, note: warn }: { dataDir: string; gitDirectory: string; note?: (line: string) => void },
  typical: Account | null,
): void {
  const found = fs.statSync(gitDirectory, { throwIfNoEntry: false })
  if (!typical || !found || (found.mode & 0o005) === 0) return
  if (path.dirname(path.resolve(gitDirectory)) === path.resolve(dataDir))
    fs.chmodSync(gitDirectory, found.mode & 0o7770)
  else if (canReach(typical, gitDirectory))
    warn?.(`Every account of this machine can read GIT_DIRECTORY (${gitDirectory}), agents too: chmod o-rwx closes it`)
}
