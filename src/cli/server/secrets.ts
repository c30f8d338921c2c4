/** `server secrets rotate`: encrypts all secrets with the first key, so that older keys can be removed. */
import { requireUsed } from '../../app/backup/contents.ts'
import { addKey } from '../../app/keyring-file.ts'
import { rotateSecrets } from '../../domain/secrets/rotate.ts'
import { readConfig } from '../../platform/config/config.ts'
import { command, type Result, UsageError } from '../terminal/command.ts'
import { withCore } from './core.ts'

export const rotate = command({
  examples: ['server secrets rotate --new-key', 'server secrets rotate'],
  define: (command) =>
    command.option('--new-key', 'only add a new first key to the key file; restart the servers, then rotate'),
  async work({ json: asJson, print }, _args, options) {
    if (options.newKey) return newKey()
    return withCore(async ({ keyring, ...core }) => {
      const { rewrapped, needed, signedUntil } = await rotateSecrets({ ...core, keyring })
      const lines = [`Encrypted ${rewrapped} values with the key ${keyring.currentId}.`]
      const retired = keyring.ids.filter((id) => id !== keyring.currentId && !needed.has(id))
      const where = readConfig(process.env).SECRETS_KEYS ? 'SECRETS_KEYS' : 'the key file'
      for (const id of retired)
        lines.push(
          signedUntil
            ? `Key ${id} may have signed upload URLs that are valid until ${signedUntil.toISOString()}. Remove it from ${where} after that.`
            : `Key ${id} is unused. Remove it from ${where}.`,
        )
      if (retired.length > 0)
        lines.push(
          `A running server with another first key than ${keyring.currentId} still encrypts with that key. Restart it, then run this command again.`,
        )
      const json = { key: keyring.currentId, rewrapped, unused: retired, still_needed: Object.fromEntries(needed) }
      const text = lines.join('\n')
      if (needed.size === 0) return { outcome: 'done', json, text }
      const missing = [...needed].map(([id, count]) => stillNeeded(keyring.has(id), id, count)).join('\n')
      if (!asJson) print(text)
      return { outcome: 'failed', json: { ...json, error: { code: 'FAILED', detail: missing } }, text: missing }
    })
  },
})

function stillNeeded(known: boolean, id: string, count: number): string {
  return known
    ? `${count} values still need the key ${id}. A running server still encrypts with it, or the key's bytes differ from the original. Restart the servers that have another first key, then run this command again.`
    : count === 0
      ? `This database was created with the key ${id}, which is missing. Add it after the first key, then run this command again.`
      : `${count} values need the key ${id}, which is missing. Add it after the first key, then run this command again.`
}

async function newKey(): Promise<Result> {
  const config = readConfig(process.env)
  if (config.SECRETS_KEYS)
    throw new UsageError(
      '--new-key needs the key file in DATA_DIR, but SECRETS_KEYS is set. Add a new first key to SECRETS_KEYS instead.',
    )
  await requireUsed(config)
  const { id, file } = await addKey(config)
  const text = `The key ${id} is now the first key in ${file}. Restart every server of this DATA_DIR, then run \`pilothouse server secrets rotate\`.`
  return { outcome: 'done', json: { key: id, file }, text }
}
