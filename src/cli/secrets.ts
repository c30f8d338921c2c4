/** `secrets rotate`: encrypts all secrets with the first key, so that older keys can be removed. */
import { requireUsed } from '../app/backup/data-dir.ts'
import { addKey } from '../app/keyring-file.ts'
import { rotateSecrets } from '../domain/secrets/rotate.ts'
import { readConfig } from '../platform/config/config.ts'
import { withCore } from './core.ts'
import { type Command, CommandError, readOptions, UsageError } from './terminal/command.ts'

export const rotateKeys: Command = {
  usage: '[--new-key]',
  summary: [
    'encrypts everything with the first key of SECRETS_KEYS or of the key file, and lists the keys that you can remove;',
    '--new-key: only adds a new first key to the key file; restart the servers, then rotate',
  ].join('\n      '),
  async run(args) {
    const { values } = readOptions(args, { 'new-key': { type: 'boolean', default: false } })
    if (values['new-key']) return newKey()
    await withCore(async ({ keyring, ...core }) => {
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
      process.stdout.write(`${lines.join('\n')}\n`)
      if (needed.size > 0)
        throw new CommandError([...needed].map(([id, count]) => stillNeeded(keyring.has(id), id, count)).join('\n'))
    })
  },
}

function stillNeeded(known: boolean, id: string, count: number): string {
  return known
    ? `${count} values still need the key ${id}. A running server still encrypts with it, or the key's bytes differ from the original. Restart the servers that have another first key, then run this command again.`
    : count === 0
      ? `This database was created with the key ${id}, which is missing. Add it after the first key, then run this command again.`
      : `${count} values need the key ${id}, which is missing. Add it after the first key, then run this command again.`
}

async function newKey(): Promise<void> {
  const config = readConfig(process.env)
  if (config.SECRETS_KEYS)
    throw new UsageError(
      '--new-key needs the key file in DATA_DIR, but SECRETS_KEYS is set. Add a new first key to SECRETS_KEYS instead.',
    )
  await requireUsed(config)
  const { id, file } = await addKey(config)
  process.stdout.write(
    `The key ${id} is now the first key in ${file}. Restart every server of this DATA_DIR, then run \`secrets rotate\`.\n`,
  )
}
