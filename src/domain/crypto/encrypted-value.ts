/** Stores one encrypted value in a text column, bound to its row and column (docs/deployments.md#secrets). */
import { randomBytes } from 'node:crypto'
import { decrypt, encrypt, type KeyRing } from './keyring.ts'

/** `context`: the value's place, `<table>.<column>:<id of the row>`. The result begins with the id of the key. */
export function seal(keyring: KeyRing, context: string, plain: string): string {
  const dataKey = randomBytes(32)
  return [
    keyring.currentId,
    keyring.wrap(dataKey, context).toString('base64url'),
    encrypt(dataKey, Buffer.from(plain), context).toString('base64url'),
  ].join('.')
}

/** Encrypts the data key with the ring's first key, without decrypting the value. Throws like `unseal`. */
export function reseal(keyring: KeyRing, context: string, sealed: string): string {
  const { dataKey, body } = open(keyring, context, sealed)
  return [keyring.currentId, keyring.wrap(dataKey, context).toString('base64url'), body].join('.')
}

/** Throws if the ring lacks the key, or if `sealed` or `context` was changed. */
export function unseal(keyring: KeyRing, context: string, sealed: string): string {
  const { dataKey, body } = open(keyring, context, sealed)
  return decrypt(dataKey, Buffer.from(body, 'base64url'), context).toString('utf8')
}

function open(keyring: KeyRing, context: string, sealed: string): { dataKey: Buffer; body: string } {
  const [keyId, wrapped, body] = sealed.split('.')
  if (!keyId || !wrapped || !body) throw new Error('not a sealed value')
  return { dataKey: keyring.unwrap(keyId, Buffer.from(wrapped, 'base64url'), context), body }
}
