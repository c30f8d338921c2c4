/** Signs and verifies the registry's tokens, with a key from a PEM file and the certificate that the registry trusts. */
import { createPrivateKey, createPublicKey, type KeyObject, randomUUID, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { errors, jwtVerify, SignJWT } from 'jose'
import { z } from 'zod'
import type { RegistryAccess, VerifiedToken } from '../domain/ports/registry.ts'
import { ConfigError } from '../platform/config/config.ts'

export interface SigningKey {
  algorithm: 'RS256' | 'ES256'
  privateKey: KeyObject
  publicKey: KeyObject
  /** certificate chain from the key's certificate to its issuers: base64 of DER, as in a JWT's `x5c` */
  chain: string[]
}

/** Throws ConfigError with the first problem. */
export async function readSigningKey(keyFile: string, certificateFile: string): Promise<SigningKey> {
  const privateKey = keyOf(await readPem('REGISTRY_TOKEN_KEY', keyFile))
  const chain = chainOf(await readPem('REGISTRY_TOKEN_CERTIFICATE', certificateFile))
  if (!chain[0]!.checkPrivateKey(privateKey))
    throw new ConfigError('REGISTRY_TOKEN_CERTIFICATE: the (first) certificate is not of the key in REGISTRY_TOKEN_KEY')
  for (const certificate of chain) checkDates(certificate)
  return {
    algorithm: algorithmOf(privateKey),
    privateKey,
    publicKey: createPublicKey(privateKey),
    chain: chain.map((certificate) => certificate.raw.toString('base64')),
  }
}

async function readPem(setting: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    throw new ConfigError(`${setting}: the file can't be read (${(cause as NodeJS.ErrnoException).code})`, { cause })
  }
}

function keyOf(pem: string): KeyObject {
  try {
    return createPrivateKey(pem)
  } catch {
    // the parser's message may quote the key
    throw new ConfigError('REGISTRY_TOKEN_KEY: the file holds no private key in PEM, or an encrypted one')
  }
}

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): SigningKey['algorithm'] {
  if (asymmetricKeyType === 'rsa' && asymmetricKeyDetails!.modulusLength! >= 2048) return 'RS256'
  if (asymmetricKeyType === 'ec' && asymmetricKeyDetails!.namedCurve === 'prime256v1') return 'ES256'
  throw new ConfigError('REGISTRY_TOKEN_KEY must be an RSA key of at least 2048 bits, or one of the curve P-256')
}

function chainOf(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  try {
    if (blocks.length > 0) return blocks.map((block) => new X509Certificate(block))
  } catch {
    // reported below
  }
  throw new ConfigError('REGISTRY_TOKEN_CERTIFICATE: the file holds no certificate in PEM')
}

function checkDates({ validFrom, validTo }: X509Certificate): void {
  if (Date.parse(validTo) <= Date.now())
    throw new ConfigError(`REGISTRY_TOKEN_CERTIFICATE: the certificate has expired (${validTo})`)
  if (Date.parse(validFrom) > Date.now())
    throw new ConfigError(`REGISTRY_TOKEN_CERTIFICATE: the certificate is not valid yet (from ${validFrom})`)
}

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
