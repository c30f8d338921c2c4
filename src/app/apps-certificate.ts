/** Reads the certificate of the port for all agents. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import fs from 'node:fs'
import type { Logger } from 'pino'
import { type Config, ConfigError } from '../platform/config/config.ts'

export interface Certificate {
  cert: string
  key: string
}

/**
 * Returns a function that reads the files again. A broken file leaves the previous certificate, with one log line. Null: no TLS.
 * Throws ConfigError when the files are unusable at the start.
 */
export function readAppsCertificate(
  { APPS_TLS_CERT: certFile, APPS_TLS_KEY: keyFile }: Pick<Config, 'APPS_TLS_CERT' | 'APPS_TLS_KEY'>,
  log: Pick<Logger, 'warn'>,
): (() => Certificate) | null {
  if (!certFile || !keyFile) return null
  let current = read(certFile, keyFile)
  let reported = ''
  return () => {
    try {
      current = read(certFile, keyFile)
      reported = ''
    } catch (error) {
      const { message } = error as Error
      if (message !== reported) log.warn(`${message}. The door keeps the previous certificate.`)
      reported = message
    }
    return current
  }
}

function read(certFile: string, keyFile: string): Certificate {
  const cert = readText('APPS_TLS_CERT', certFile)
  const key = readText('APPS_TLS_KEY', keyFile)
  const certificate = parse('APPS_TLS_CERT: the file has no certificate in PEM', () => new X509Certificate(cert))
  // the parser's message may quote the key
  const privateKey = parse('APPS_TLS_KEY: the file has no private key in PEM, or an encrypted one', () =>
    createPrivateKey(key),
  )
  if (!certificate.checkPrivateKey(privateKey))
    throw new ConfigError('APPS_TLS_CERT: the (first) certificate is not of the key in APPS_TLS_KEY')
  return { cert, key }
}

function readText(setting: string, file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (cause) {
    throw new ConfigError(`${setting}: the file can't be read (${(cause as NodeJS.ErrnoException).code})`, { cause })
  }
}

function parse<T>(problem: string, work: () => T): T {
  try {
    return work()
  } catch {
    throw new ConfigError(problem)
  }
}
