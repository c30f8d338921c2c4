/**
 * Where the key ring for secrets at rest comes from: SECRETS_KEYS, or a key file in DATA_DIR that the first start
 * makes. Before anything is served, the ring is tried on what the database holds.
 */
import { randomBytes } from 'node:crypto'
import { link, mkdir, open, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { type Config, ConfigError } from './config.ts'
import type { Db } from './domain/context.ts'
import { KeyRing } from './domain/secrets/keyring.ts'
import { unseal } from './domain/secrets/sealed.ts'

const FILE = 'secrets.key'

/** Throws ConfigError when the key file can't be read or written, or is none. */
export async function loadKeyRing(config: Pick<Config, 'SECRETS_KEYS' | 'DATA_DIR'>): Promise<KeyRing> {
  if (config.SECRETS_KEYS) return KeyRing.parse(config.SECRETS_KEYS)
  const file = path.join(config.DATA_DIR, FILE)
  try {
    const text = (await readKey(file)) ?? (await makeKey(file))
    if (!/^[\w-]+:[A-Za-z0-9+/]{43}=$/.test(text)) throw new Error('it holds no key')
    return KeyRing.parse(text)
  } catch (error) {
    throw new ConfigError(
      `The key file ${file} can't be used: ${(error as Error).message}. Mend it or set SECRETS_KEYS.`,
    )
  }
}

async function readKey(file: string): Promise<string | null> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** Of several processes that come here at once one makes the file, whole from the first moment; all use that one. */
async function makeKey(file: string): Promise<string> {
  // others may pass through it, as Postgres's and the agents' accounts must, but not look around
  await mkdir(path.dirname(file), { recursive: true, mode: 0o711 })
  const own = `${file}.${randomBytes(6).toString('hex')}`
  const handle = await open(own, 'wx', 0o600)
  try {
    await handle.writeFile(`file-${randomBytes(4).toString('hex')}:${randomBytes(32).toString('base64')}\n`)
    await handle.sync()
    await handle.close()
    // unlike rename, link never replaces what somebody else put there first
    await link(own, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(own, { force: true })
  }
  return (await readFile(file, 'utf8')).trim()
}

/** Throws ConfigError when the ring can't open what other starts encrypted in this database. */
export async function checkKeyRing(db: Db, keyring: KeyRing): Promise<void> {
  const installation = await db.installation.findFirst()
  if (installation && !keyring.has(installation.keyId)) throw missing(installation.keyId)
  const sets = await db.$queryRaw<{ id: string; keyId: string; wrapped: Uint8Array }[]>`
    SELECT DISTINCT ON (key_id) id, key_id AS "keyId", wrapped_key AS wrapped FROM secret_sets ORDER BY key_id, id`
  for (const { id, keyId, wrapped } of sets) tryKey(keyring, keyId, () => keyring.unwrap(keyId, wrapped, id))
  // what is sealed begins with its key's id, and was sealed for its place (domain/secrets/sealed.ts)
  const sealed = await db.$queryRaw<{ keyId: string; place: string; text: string }[]>`
    SELECT DISTINCT ON (split_part(text, '.', 1)) split_part(text, '.', 1) AS "keyId", place, text FROM (
      SELECT 'oauth_providers.client_secret:' || id AS place, client_secret AS text FROM oauth_providers
        WHERE client_secret IS NOT NULL
      UNION ALL SELECT 'oauth_tokens.sealed:' || id, sealed FROM oauth_tokens
      UNION ALL SELECT 'token_revocations.sealed:' || id, sealed FROM token_revocations
    ) AS sealed ORDER BY split_part(text, '.', 1)`
  for (const { keyId, place, text } of sealed) tryKey(keyring, keyId, () => unseal(keyring, place, text))
}

/** `open` opens something that was encrypted with this key. */
function tryKey(keyring: KeyRing, keyId: string, open: () => unknown): void {
  if (!keyring.has(keyId)) throw missing(keyId)
  try {
    open()
  } catch {
    throw new ConfigError(
      `SECRETS_KEYS has another key under the id ${keyId} than the one this database was encrypted with.`,
    )
  }
}

const missing = (id: string) =>
  new ConfigError(
    `This database's secrets need the key ${id}: put it into SECRETS_KEYS, or start with the DATA_DIR whose ${FILE} has it.`,
  )
