/** Signs and verifies Docker registry tokens (distribution.github.io/distribution/spec/auth/jwt). */
import { randomUUID } from 'node:crypto'
import { errors, jwtVerify, SignJWT } from 'jose'
import { z } from 'zod'
import type { RegistryAccess, VerifiedToken } from '../../domain/ports/registry.ts'
import type { SigningKey } from './signing-key.ts'

export interface Signing extends SigningKey {
  service: string
  issuer: string
}

/** How far the registry's clock may be behind ours. */
const CLOCK_LEEWAY_SECONDS = 60

/**
 * Signs a token. The registry finds the key by `x5c`. `kid` is omitted: some registry releases check it first, and each
 * generation computes it differently.
 */
export function signToken(
  { algorithm, privateKey, chain, service, issuer }: Signing,
  subject: string,
  access: readonly RegistryAccess[],
  seconds: number,
): Promise<string> {
  const now = Math.floor(Date.now() / 1000)
  const claims = access.map(({ repository, actions }) => ({ type: 'repository', name: repository, actions }))
  return new SignJWT({ access: claims })
    .setProtectedHeader({ alg: algorithm, typ: 'JWT', x5c: chain })
    .setIssuer(issuer)
    .setSubject(subject)
    .setAudience(service)
    .setIssuedAt(now)
    .setNotBefore(now - CLOCK_LEEWAY_SECONDS)
    .setExpirationTime(now + seconds)
    .setJti(randomUUID())
    .sign(privateKey)
}

const claimsOfOurs = z.object({
  sub: z.string(),
  exp: z.number(),
  access: z.array(
    z.object({ type: z.literal('repository'), name: z.string(), actions: z.array(z.enum(['pull', 'push', 'delete'])) }),
  ),
})

/** Null when the token is not signed by our key, is for another service, has expired or has unknown claims. */
export async function verifyToken(
  { algorithm, publicKey, service, issuer }: Signing,
  token: string,
): Promise<VerifiedToken | null> {
  try {
    const { payload } = await jwtVerify(token, publicKey, { algorithms: [algorithm], issuer, audience: service })
    const claims = claimsOfOurs.safeParse(payload)
    if (!claims.success) return null
    const { sub, exp, access } = claims.data
    return {
      subject: sub,
      expiresAt: new Date(exp * 1000),
      access: access.map(({ name, actions }) => ({ repository: name, actions })),
    }
  } catch (error) {
    if (error instanceof errors.JOSEError) return null
    throw error
  }
}
