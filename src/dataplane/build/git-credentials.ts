/**
 * Hands git the credentials of one host: through a file that only the server may read, named in git's configuration,
 * so that the password is in no argument, URL, environment or log.
 */
import fs from 'node:fs'
import { StepFailure } from '../output/step-failure.ts'
import type { Remote } from './repository.ts'
import type { Credentials } from './source-access.ts'

/**
 * Writes `file` for git's own `credential-store`, and returns the lines of configuration that name it. They are for the
 * remote's origin alone: a redirect to another host gets nothing. Throws StepFailure for a remote without an origin.
 */
export function storeCredentials(file: string, { url, protocol }: Remote, credentials: Credentials): string[] {
  if (protocol !== 'https' && protocol !== 'http')
    throw new StepFailure(
      'CONFIG_INVALID',
      'A git integration reads repositories over https:// only: use that repo_url.',
    )
  const { origin, host } = new URL(url)
  const [user, password] = [credentials.username, credentials.password].map(encodeURIComponent)
  fs.writeFileSync(file, `${protocol}://${user}:${password}@${host}\n`, { mode: 0o600, flag: 'wx' })
  return [
    // the empty one forgets every helper that was named before
    '[credential]',
    '\thelper =',
    `[credential "${origin}"]`,
    `\thelper = ${quoted(`store --file=${shellQuoted(file)}`)}`,
  ]
}

/** As a value in git's configuration. */
const quoted = (text: string) => `"${text.replaceAll(/["\\]/g, '\\$&')}"`

/** As one word of sh, which runs the helper. */
const shellQuoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
