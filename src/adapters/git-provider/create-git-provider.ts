/** Creates the client of the configured git provider. */
import { createPrivateKey } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { GitProvider } from '../../domain/ports/git-provider.ts'
import { type Config, ConfigError } from '../../platform/config/config.ts'
import type { Log } from '../../platform/log/log.ts'

/** Null when none is configured. Throws ConfigError for an invalid private key. */
export async function createGitProvider(config: Config, log: Log): Promise<GitProvider | null> {
  const { GITPROVIDER_API_URL: url, GITPROVIDER_APP_ID: appId, GITPROVIDER_PRIVATE_KEY: key } = config
  const { GITPROVIDER_WEBHOOK_SECRET: webhookSecret } = config
  if (!url || !appId || !key || !webhookSecret) return null
  const { GITPROVIDER_CLIENT_ID: id, GITPROVIDER_CLIENT_SECRET: secret } = config
  // its packages load slowly, so servers and commands without a provider don't import them
  const [{ gitProviderOf }, { Connection }] = await Promise.all([import('./client.ts'), import('./connection.ts')])
  const connection = new Connection({
    apiUrl: url.replace(/\/+$/, ''),
    appId,
    privateKey: await readKey(key),
    oauthClient: id && secret ? { id, secret } : null,
    log,
  })
  return gitProviderOf(connection, webhookSecret)
}

/** Converts the key to PKCS#8. No message contains the setting's value. */
async function readKey(setting: string): Promise<string> {
  const pem = setting.includes('-----BEGIN') ? setting.replaceAll('\\n', '\n') : await readKeyFile(setting)
  let key: ReturnType<typeof createPrivateKey>
  try {
    key = createPrivateKey(pem)
  } catch {
    throw new ConfigError('GITPROVIDER_PRIVATE_KEY must be a private key in PEM form, or the path of such a file')
  }
  if (key.asymmetricKeyType !== 'rsa')
    throw new ConfigError(`GITPROVIDER_PRIVATE_KEY must be an RSA key, not ${key.asymmetricKeyType}`)
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

async function readKeyFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    // omits the path: it may be a key that lost its first line
    const { code } = error as NodeJS.ErrnoException
    throw new ConfigError(`GITPROVIDER_PRIVATE_KEY is neither a key in PEM form nor a file that can be read (${code})`)
  }
}
