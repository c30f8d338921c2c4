/** Reads the registry's token signing key and the certificate that the registry trusts, from PEM files. */
import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { ConfigError } from '../../platform/config/config.ts'

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
