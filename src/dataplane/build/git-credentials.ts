/**
 * Passes credentials for one host to git in a file that only git's account can read. The password is in no argument, URL,
 * environment or log.
 */
import fs from 'node:fs'
import { StepFailure } from '../output/step-failure.ts'
import type { Remote } from './repository.ts'
import type { Credentials } from './source-access.ts'

/**
 * Writes `file` for git's `credential-store` and returns the configuration lines that name it. They apply to the remote's origin
 * only: a redirect to another host gets no credentials. Throws StepFailure for a remote without an origin.
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
    // the empty value clears helpers that were configured before
    '[credential]',
    '\thelper =',
    `[credential "${origin}"]`,
    `\thelper = ${quoted(`store --file=${shellQuoted(file)}`)}`,
  ]
}

const quoted = (text: string) => `"${text.replaceAll(/["\\]/g, '\\$&')}"`

const shellQuoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
