/** `backup`, `restore`: all data of a server (docs/operations.md#backup-and-restore). */
import { backUp } from '../app/backup/backup.ts'
import { BackupError, type Manifest } from '../app/backup/contents.ts'
import { restore } from '../app/backup/restore.ts'
import { type Config, postgresEnvironment, readConfig } from '../platform/config/config.ts'
import { DumpError } from '../platform/postgres/pg-programs.ts'
import { type Command, CommandError, readOptions, UsageError } from './terminal/command.ts'

const FLAG = { type: 'boolean', default: false } as const

export const makeBackup: Command = {
  usage: 'FOLDER [--dumps | --files-only]',
  summary: [
    'writes databases, keys and files to a new folder; the server and agents may run;',
    '--dumps: also dumps the embedded Postgres, for another Postgres version, another machine or a DATABASE_URL;',
    '--files-only: without the databases of DATABASE_URL, which you back up separately',
  ].join('\n      '),
  async run(args) {
    const { values, positionals } = readOptions(args, { 'files-only': FLAG, dumps: FLAG }, 1)
    const folder = positionals[0]!
    const config = configFor(values['files-only'])
    const made = await withCommandErrors(
      backUp({
        config,
        target: folder,
        filesOnly: values['files-only'],
        asDumps: values.dumps,
        env: postgresEnvironment(),
      }),
    )
    process.stdout.write(
      [
        `The backup in ${folder} is complete. Protect it: it gives access to all secrets.`,
        ...missingParts(config, made),
        '',
      ].join('\n'),
    )
  },
}

export const restoreBackup: Command = {
  usage: 'FOLDER [--files-only]',
  summary: 'restores a backup into an empty DATA_DIR and an empty database, which no server may use',
  async run(args) {
    const { values, positionals } = readOptions(args, { 'files-only': FLAG }, 1)
    const config = configFor(values['files-only'])
    const made = await withCommandErrors(
      restore({ config, backup: positionals[0]!, filesOnly: values['files-only'], env: postgresEnvironment() }),
    )
    process.stdout.write(
      [`Restored ${config.DATA_DIR}. Start the server.`, ...missingParts(config, made), ''].join('\n'),
    )
  },
}

function configFor(filesOnly: boolean): Config {
  const config = readConfig(process.env)
  if (filesOnly && !config.DATABASE_URL)
    throw new UsageError('--files-only needs DATABASE_URL, because the embedded Postgres is part of the files.')
  return config
}

/** Lists data that a restored server needs and the backup does not contain. */
function missingParts({ STORAGE_S3_BUCKET }: Config, { databases, keys }: Manifest): string[] {
  return [
    ...(keys ? [] : ['The backup does not contain SECRETS_KEYS. Keep them: encrypted data is lost without them.']),
    ...(databases ? [] : ['The backup does not contain the databases.']),
    ...(STORAGE_S3_BUCKET ? [`The backup does not contain the bucket ${STORAGE_S3_BUCKET}.`] : []),
  ]
}

async function withCommandErrors<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (error instanceof BackupError || error instanceof DumpError) throw new CommandError(error.message)
    throw error
  }
}
