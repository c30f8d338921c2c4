/**
 * Runs `pg_dump` and `pg_restore`, which must be installed. Passwords are passed in the environment, never as arguments.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

/** Connection parameters of libpq; others belong to a client library. */
const PARAMETERS = new Set([
  'host',
  'port',
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'options',
  'target_session_attrs',
])

/** A program failed. `message`: the reason, for people. */
export class DumpError extends Error {}

/** Environment of the programs without the password: PATH and PG variables. */
export type ProgramEnvironment = Record<string, string>

/** Dumps one database to `file`; `snapshot`: as of that exported snapshot. */
export async function dump(url: string, file: string, env: ProgramEnvironment, snapshot?: string): Promise<void> {
  const consistent = snapshot === undefined ? [] : [`--snapshot=${snapshot}`]
  await runProgram('pg_dump', url, ['--format=custom', `--file=${file}`, ...consistent], env)
}

/** Restores a dump into an empty database, in one transaction. `role`: owner of all objects. */
export async function restoreDump(url: string, file: string, env: ProgramEnvironment, role?: string): Promise<void> {
  const owner = role === undefined ? [] : [`--role=${role}`]
  const how = ['--no-owner', '--no-privileges', '--single-transaction', '--exit-on-error', ...owner]
  await runProgram('pg_restore', url, [...how, file], env)
}

async function runProgram(program: string, url: string, args: string[], env: ProgramEnvironment): Promise<void> {
  const { address, password } = withoutPassword(url)
  const child = spawn(program, [`--dbname=${address}`, '--no-password', ...args], {
    env: { ...env, ...(password === '' ? {} : { PGPASSWORD: password }) },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const said = text(child.stderr)
  const [code] = (await once(child, 'close').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    throw new DumpError(
      `${program} is not installed (on Debian it comes with postgresql-client). It has to be at least as new as the Postgres. Or back the databases up by other means, and use --files-only.`,
    )
  })) as [number | null]
  if (code !== 0) throw new DumpError(`${program} failed: ${(await said).trim().slice(-2000)}`)
}

function withoutPassword(url: string): { address: string; password: string } {
  const address = new URL(url)
  const password = decodeURIComponent(address.password)
  address.password = ''
  for (const name of [...address.searchParams.keys()]) if (!PARAMETERS.has(name)) address.searchParams.delete(name)
  // `no-verify` belongs to node-postgres: encrypted, without checking the certificate
  if (address.searchParams.get('sslmode') === 'no-verify') address.searchParams.set('sslmode', 'require')
  // libpq reads `+` literally, not as a space
  address.search = address.search.replaceAll('+', '%20')
  return { address: address.href, password }
}
