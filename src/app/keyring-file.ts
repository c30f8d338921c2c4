/**
 * Loads the key ring for secrets at rest, from SECRETS_KEYS or a key file in DATA_DIR that the first start creates. Before
 * serving, it is tested on stored secrets.
 */
import { randomBytes } from 'node:crypto'
import { link, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { KeyRing } from '../domain/crypto/keyring.ts'
import { sampleEachKey } from '../domain/secrets/rotate.ts'
import type { Db } from '../domain/transaction/context.ts'
import { installationKeyId } from '../domain/workspaces.ts'
import { type Config, ConfigError } from '../platform/config/config.ts'

const FILE = 'secrets.key'

/** Throws ConfigError when the key file is unreadable, unwritable or malformed. */
export async function loadKeyRing(config: Pick<Config, 'SECRETS_KEYS' | 'DATA_DIR'>): Promise<KeyRing> {
  if (config.SECRETS_KEYS) return KeyRing.parse(config.SECRETS_KEYS)
  const file = path.join(config.DATA_DIR, FILE)
  try {
    const text = (await readKey(file)) ?? (await makeKey(file))
    return KeyRing.parse(keysOf(text).join(','))
  } catch (error) {
    throw new ConfigError(
      `The key file ${file} can't be used: ${(error as Error).message}. Repair it or set SECRETS_KEYS.`,
    )
  }
}

/** Adds a new first key to the key file, which is created if missing. Throws ConfigError. */
export async function addKey(config: Pick<Config, 'DATA_DIR'>): Promise<{ id: string; file: string }> {
  await loadKeyRing({ ...config, SECRETS_KEYS: undefined })
  const file = path.join(config.DATA_DIR, FILE)
  const key = newKey()
  const own = `${file}.${randomBytes(6).toString('hex')}`
  try {
    await writeKeyFile(own, [key, ...keysOf(await readFile(file, 'utf8'))])
    await rename(own, file)
  } finally {
    await rm(own, { force: true })
  }
  return { id: key.slice(0, key.indexOf(':')), file }
}

/** One key per line; the first one encrypts. */
function keysOf(text: string): string[] {
  const keys = text.split(/\s+/).filter(Boolean)
  if (keys.length === 0 || !keys.every((key) => /^[\w-]+:[A-Za-z0-9+/]{43}=$/.test(key)))
    throw new Error('it holds no key')
  return keys
}

const newKey = () => `file-${randomBytes(4).toString('hex')}:${randomBytes(32).toString('base64')}`

/** Readable by its owner only, and synced to disk. */
async function writeKeyFile(file: string, keys: string[]): Promise<void> {
  const handle = await open(file, 'wx', 0o600)
  try {
    await handle.writeFile(`${keys.join('\n')}\n`)
    await handle.sync()
  } finally {
    await handle.close()
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

/** Creates the key file. Of concurrent processes one creates it, complete from the first moment; all use it. */
async function makeKey(file: string): Promise<string> {
  // other accounts (Postgres, agents) may pass through the folder but not list it
  await mkdir(path.dirname(file), { recursive: true, mode: 0o711 })
  const own = `${file}.${randomBytes(6).toString('hex')}`
  try {
    await writeKeyFile(own, [newKey()])
    // unlike rename, link never replaces an existing file
    await link(own, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(own, { force: true })
  }
  return (await readFile(file, 'utf8')).trim()
}

/** Throws ConfigError when the ring can't decrypt what earlier starts encrypted in this database. */
export async function checkKeyRing(db: Db, keyring: KeyRing): Promise<void> {
  const keyId = await installationKeyId(db)
  if (keyId !== null && !keyring.has(keyId)) throw missing(keyId)
  for (const { keyId, open } of await sampleEachKey(db)) {
    if (!keyring.has(keyId)) throw missing(keyId)
    try {
      open(keyring)
    } catch {
      throw new ConfigError(
        `SECRETS_KEYS has another key under the id ${keyId} than the one this database was encrypted with.`,
      )
    }
  }
}

const missing = (id: string) =>
  new ConfigError(
    `This database's secrets need the key ${id}: put it into SECRETS_KEYS, or start with the DATA_DIR whose ${FILE} has it.`,
  )
