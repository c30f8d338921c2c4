/** A signing key with its certificate for the container registry, made by openssl as an operator would. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'

export interface RegistrySettings {
  /** holds both files */
  folder: string
  REGISTRY_URL: string
  REGISTRY_TOKEN_KEY: string
  REGISTRY_TOKEN_CERTIFICATE: string
}

/** `kind`: arguments of `-newkey`; `days`: how long the certificate is valid. */
export function registrySettings(
  address = 'https://registry.example.com:5000',
  kind: readonly string[] = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'],
): RegistrySettings {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'pilothouse-registry-'))
  const key = path.join(folder, 'key.pem')
  const certificate = path.join(folder, 'certificate.pem')
  const fixed = ['-nodes', '-subj', '/CN=pilothouse', '-days', '2', '-keyout', key, '-out', certificate]
  execFileSync('openssl', ['req', '-x509', ...kind, ...fixed], { stdio: 'ignore' })
  return { folder, REGISTRY_URL: address, REGISTRY_TOKEN_KEY: key, REGISTRY_TOKEN_CERTIFICATE: certificate }
}
