/**
 * A signing key with its certificate for the container registry. They were made once with `openssl req -x509 … -days
 * 36500` and are good for tests alone, which so need no openssl.
 */
import { cpSync, mkdtempSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const MADE = fileURLToPath(new URL('../fixtures/registry', import.meta.url))

export interface RegistrySettings {
  /** holds all files */
  folder: string
  REGISTRY_URL: string
  REGISTRY_TOKEN_KEY: string
  REGISTRY_TOKEN_CERTIFICATE: string
  /** an expired certificate of the key; only for `ec` */
  expired: string
}

/** `weak`: RSA with 1024 bits. */
export function registrySettings(
  address = 'https://registry.example.com:5000',
  kind: 'ec' | 'rsa' | 'weak' = 'ec',
): RegistrySettings {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'pilothouse-registry-'))
  cpSync(MADE, folder, { recursive: true })
  return {
    folder,
    REGISTRY_URL: address,
    REGISTRY_TOKEN_KEY: path.join(folder, `${kind}.key.pem`),
    REGISTRY_TOKEN_CERTIFICATE: path.join(folder, `${kind}.certificate.pem`),
    expired: path.join(folder, `${kind}.expired.pem`),
  }
}
