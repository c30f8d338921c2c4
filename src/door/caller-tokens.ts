/** Makes the tokens by which agents know their callers: JWTs (RFC 7519) with the EdDSA signature of a key that never leaves the door. */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hkdfSync,
  type JsonWebKey,
  type KeyObject,
  sign,
} from 'node:crypto'
import path from 'node:path'
import type { GuardedDeployment } from '../domain/values/access-copy.ts'
import { readOrCreate } from '../platform/files/atomic-file.ts'

/** Who calls a deployment. */
export interface Caller {
  kind: 'key' | 'session' | 'person' | 'jwt'
  /** id of the key or session, or the person's `sub` */
  subject: string
  role: string
}

const LIFETIME_SECONDS = 300
/** A token is used again while it is valid for at least this long. */
const MIN_LEFT_SECONDS = 120
const MAX_TOKENS = 10_000

export class CallerTokens {
  readonly #key: KeyObject
  /** public part, with its id as `kid` */
  readonly jwk: JsonWebKey & { kid: string }
  readonly #made = new Map<string, { token: string; exp: number }>()

  constructor(key: KeyObject) {
    this.#key = key
    const { kty, crv, x } = createPublicKey(key).export({ format: 'jwk' })
    this.jwk = { kty, crv, x, kid: x!.slice(0, 16), use: 'sig', alg: 'EdDSA' } as JsonWebKey & { kid: string }
  }

  /** A token for the deployment, valid for two to five minutes. */
  tokenFor(caller: Caller, deployment: GuardedDeployment, issuer: string): string {
    const now = Math.floor(Date.now() / 1000)
    const name = `${deployment.id} ${caller.role} ${caller.kind} ${caller.subject}`
    const known = this.#made.get(name)
    if (known && known.exp - now > MIN_LEFT_SECONDS) return known.token
    const exp = now + LIFETIME_SECONDS
    const claims = {
      iss: issuer,
      aud: deployment.id,
      sub: caller.subject,
      kind: caller.kind,
      role: caller.role,
      workspace: deployment.workspace,
      organization: deployment.organization,
      deployment: deployment.id,
      iat: now,
      exp,
    }
    const signed = `${encode({ alg: 'EdDSA', typ: 'JWT', kid: this.jwk.kid })}.${encode(claims)}`
    const token = `${signed}.${sign(null, Buffer.from(signed), this.#key).toString('base64url')}`
    if (this.#made.size >= MAX_TOKENS) this.#made.clear()
    this.#made.set(name, { token, exp })
    return token
  }
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Creates the key of a machine's door at its first start. Throws when the folder can't be written. */
export function keyOfFolder(folder: string): KeyObject {
  const make = () => generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  return createPrivateKey(readOrCreate(path.join(folder, 'caller-key.pem'), make))
}

/** Head of a private Ed25519 key in DER (RFC 8410, 7); the 32 bytes of the key follow. */
const ED25519_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex')

/** The key of all doors with this token, so that pods that come and go add no keys to the key set. */
export function keyOfToken(token: string): KeyObject {
  const bytes = Buffer.from(hkdfSync('sha256', token, '', 'pilothouse caller tokens', 32))
  return createPrivateKey({ key: Buffer.concat([ED25519_HEAD, bytes]), format: 'der', type: 'pkcs8' })
}
