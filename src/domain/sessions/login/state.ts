/** The state of a login, sealed in a cookie. It opens only with the provider's `state`, so no other browser can finish it. */
import { randomBytes } from 'node:crypto'
import { seal, unseal } from '../../crypto/encrypted-value.ts'
import type { LoginSecrets } from '../../ports/login.ts'
import type { Core } from '../../transaction/context.ts'
import { LoginError } from './error.ts'

/** Time that a person may spend at the provider. */
export const LOGIN_SECONDS = 600

const random = () => randomBytes(32).toString('base64url')

/** `state` contains its creation time, so an expired login is recognised even after its cookie is gone. */
export function newLogin(now: Date): LoginSecrets {
  return { state: `${random()}.${now.getTime().toString(36)}`, nonce: random(), codeVerifier: random() }
}

type SealingContext = Pick<Core, 'keyring' | 'clock'>

const sealContext = (state: string) => `sessions.login:${state}`

export function sealLogin({ keyring }: SealingContext, { state, nonce, codeVerifier }: LoginSecrets): string {
  return seal(keyring, sealContext(state), JSON.stringify({ nonce, codeVerifier }))
}

/** `sealed`: the browser's cookies for this state, possibly also forged ones. Throws LoginError. */
export function openLogin({ keyring, clock }: SealingContext, state: string, sealed: readonly string[]): LoginSecrets {
  if (clock().getTime() - createdAtMs(state) > LOGIN_SECONDS * 1000) throw new LoginError('expired')
  for (const one of sealed)
    try {
      return { state, ...JSON.parse(unseal(keyring, sealContext(state), one)) }
    } catch {
      // not sealed by this server for this state
    }
  throw new LoginError('state_mismatch')
}

/** The creation time that the state claims, verified by the seal; infinite if it claims none. */
function createdAtMs(state: string): number {
  const at = Number.parseInt(state.split('.')[1] ?? '', 36)
  return Number.isSafeInteger(at) ? at : Number.POSITIVE_INFINITY
}
