/** The key ring encrypts data keys and signs texts (README.md, docs/deployments.md#secrets). */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'

const IV_BYTES = 12
const TAG_BYTES = 16

export class KeyRing {
  readonly #keys: Map<string, Buffer>
  readonly currentId: string

  /** `keys`: [id, 32 bytes]; the first one encrypts */
  constructor(keys: readonly (readonly [string, Buffer])[]) {
    const first = keys[0]
    if (!first) throw new Error('a key ring needs a key')
    this.#keys = new Map(keys)
    this.currentId = first[0]
  }

  /** Reads `id:base64,id:base64` (SECRETS_KEYS), newest first. */
  static parse(text: string): KeyRing {
    return new KeyRing(
      text.split(',').map((entry) => {
        const at = entry.indexOf(':')
        return [entry.slice(0, at), Buffer.from(entry.slice(at + 1), 'base64')] as const
      }),
    )
  }

  get ids(): string[] {
    return [...this.#keys.keys()]
  }

  has(id: string): boolean {
    return this.#keys.has(id)
  }

  /** The result is bound to `context`. */
  wrap(dataKey: Buffer, context: string): Buffer {
    return encrypt(this.#key(this.currentId), dataKey, context)
  }

  /** Throws if the ring lacks the key, or if the bytes or the context differ from the wrapped ones. */
  unwrap(keyId: string, wrapped: Uint8Array, context: string): Buffer {
    return decrypt(this.#key(keyId), wrapped, context)
  }

  /** The signature is invalid for any other purpose. */
  sign(purpose: string, text: string): string {
    return mac(this.#key(this.currentId), purpose, text).toString('base64url')
  }

  /** Derives the key once, for many texts. */
  signer(purpose: string): (text: string) => Buffer {
    const derived = derivedKey(this.#key(this.currentId), purpose)
    return (text) => createHmac('sha256', derived).update(text).digest()
  }

  /** Whether any key made this signature. Compared in constant time. */
  verify(purpose: string, text: string, signature: string): boolean {
    const given = Buffer.from(signature, 'base64url')
    const matches = [...this.#keys.values()].map((key) => {
      const expected = mac(key, purpose, text)
      return given.length === expected.length && timingSafeEqual(given, expected)
    })
    return matches.includes(true)
  }

  #key(id: string): Buffer {
    const key = this.#keys.get(id)
    if (!key) throw new Error(`the key ring has no key ${id}`)
    return key
  }
}

function mac(key: Buffer, purpose: string, text: string): Buffer {
  return createHmac('sha256', derivedKey(key, purpose)).update(text).digest()
}

const derivedKey = (key: Buffer, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', key, '', `pilothouse ${purpose}`, 32))

/** AES-256-GCM. Returns iv, tag and ciphertext. Also authenticates `context`. */
export function encrypt(key: Buffer, plain: Buffer, context: string): Buffer {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(context))
  const body = Buffer.concat([cipher.update(plain), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), body])
}

export function decrypt(key: Buffer, sealed: Uint8Array, context: string): Buffer {
  const bytes = Buffer.from(sealed)
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES)).setAAD(Buffer.from(context))
  decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
  return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()])
}
