/**
 * What a login is known by while the person is at the provider. No row is written for it: it is sealed, in a cookie of the browser
 * that began it, and opens only beside the `state` that the provider sends back with the person. So any server can finish it,
 * and nobody else's browser.
 */
import { randomBytes } from 'node:crypto'
import { seal, unseal } from '../../crypto/encrypted-value.ts'
import type { LoginSecrets } from '../../ports/login.ts'
import type { Core } from '../../transaction/context.ts'
import { LoginError } from './error.ts'

/** For so long a person may be at the provider. */
export const LOGIN_SECONDS = 600

const random = () => randomBytes(32).toString('base64url')

/** `state` says when it was made, so that who comes too late is told so when the cookie is gone, too. */
export function newLogin(now: Date): LoginSecrets {
  return { state: `${random()}.${now.getTime().toString(36)}`, nonce: random(), codeVerifier: random() }
}

type SealingContext = Pick<Core, 'keyring' | 'clock'>

const sealContext = (state: string) => `sessions.login:${state}`

export function sealLogin({ keyring }: SealingContext, { state, nonce, codeVerifier }: LoginSecrets): string {
  return seal(keyring, sealContext(state), JSON.stringify({ nonce, codeVerifier }))
}

/** `sealed`: what the browser has for this state; somebody else's may be among it. Throws LoginError. */
export function openLogin({ keyring, clock }: SealingContext, state: string, sealed: readonly string[]): LoginSecrets {
  if (clock().getTime() - createdAtMs(state) > LOGIN_SECONDS * 1000) throw new LoginError('expired')
  for (const one of sealed)
    try {
      return { state, ...JSON.parse(unseal(keyring, sealContext(state), one)) }
    } catch {
      // not sealed by us for this state
    }
  throw new LoginError('state_mismatch')
}

/** ms; the seal tells whether that is true. Now, if it says nothing. */
function createdAtMs(state: string): number {
  const at = Number.parseInt(state.split('.')[1] ?? '', 36)
  return Number.isSafeInteger(at) ? at : Number.POSITIVE_INFINITY
}
