/** Makes the tokens by which agents know their callers: JWTs (RFC 7519) with the EdDSA signature of a key that never leaves the door. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type JsonWebKey, sign } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import type { GuardedDeployment } from '../domain/values/access-copy.ts'

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
  readonly #key
  /** public part, with its id as `kid` */
  readonly jwk: JsonWebKey & { kid: string }
  readonly #made = new Map<string, { token: string; exp: number }>()

  /** Creates the key in the folder at the first start. Throws when the folder can't be written. */
  constructor(folder: string) {
    const file = path.join(folder, 'caller-key.pem')
    if (!fs.existsSync(file)) {
      const { privateKey } = generateKeyPairSync('ed25519')
      const draft = `${file}.${process.pid}`
      fs.writeFileSync(draft, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
      fs.renameSync(draft, file)
    }
    this.#key = createPrivateKey(fs.readFileSync(file))
    const { kty, crv, x } = createPublicKey(this.#key).export({ format: 'jwk' })
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
