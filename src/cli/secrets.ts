/** `secrets rotate`: retires the keys that secrets were encrypted with before. */
import { requireUsed } from '../app/backup/data-dir.ts'
import { addKey } from '../app/keyring-file.ts'
import { rotateSecrets } from '../domain/secrets/rotate.ts'
import { readConfig } from '../platform/config/config.ts'
import { withCore } from './core.ts'
import { type Command, CommandError, readOptions, UsageError } from './terminal/command.ts'

export const rotateKeys: Command = {
  usage: '[--new-key]',
  summary: [
    'encrypts everything with the first key of SECRETS_KEYS, or of the key file, and says which keys can go;',
    '--new-key: puts a new one into the key file first, for servers to know before it is used',
  ].join('\n      '),
  async run(args) {
    const { values } = readOptions(args, { 'new-key': { type: 'boolean', default: false } })
    if (values['new-key']) return newKey()
    await withCore(async ({ keyring, ...core }) => {
      const { rewrapped, needed, signedUntil } = await rotateSecrets({ ...core, keyring })
      const lines = [`${rewrapped} values were encrypted with the key ${keyring.currentId} now.`]
      const retired = keyring.ids.filter((id) => id !== keyring.currentId && !needed.has(id))
      const where = readConfig(process.env).SECRETS_KEYS ? 'SECRETS_KEYS' : 'the key file'
      for (const id of retired)
        lines.push(
          signedUntil
            ? `Key ${id} is used by nothing any more from ${signedUntil.toISOString()} on, when the last address for an upload that it may have signed ends: remove it from ${where} then.`
            : `Key ${id} is used by nothing any more: remove it from ${where}.`,
        )
      if (retired.length > 0)
        lines.push(
          `A server that begins with another key than ${keyring.currentId} goes on encrypting with that: run this again when it doesn't.`,
        )
      process.stdout.write(`${lines.join('\n')}\n`)
      if (needed.size > 0)
        throw new CommandError([...needed].map(([id, count]) => stillNeeded(keyring.has(id), id, count)).join('\n'))
    })
  },
}

function stillNeeded(known: boolean, id: string, count: number): string {
  return known
    ? `Key ${id} is needed by ${count} values yet: a server that runs still encrypts with it, or other bytes were under its id. Restart the servers that don't begin with the new key, then run this again.`
    : count === 0
      ? `Key ${id} is the one that this database was made with, and is none of ours: put it behind the first one and run this again.`
      : `Key ${id} is needed by ${count} values, and is none of ours: put it behind the first one and run this again.`
}

async function newKey(): Promise<void> {
  const config = readConfig(process.env)
  if (config.SECRETS_KEYS)
    throw new UsageError('--new-key is for the key file in DATA_DIR: with SECRETS_KEYS, put a new key in front there.')
  await requireUsed(config)
  const { id, file } = await addKey(config)
  process.stdout.write(
    `The key ${id} is now the first one in ${file}. Restart every server of this DATA_DIR, then run \`secrets rotate\`.\n`,
  )
}
