/** `backup`, `restore`: everything that a server needs to be there again (docs/operations.md#backup-and-restore). */
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
    'writes databases, keys and files into a new folder, beside a server and agents that go on;',
    '--dumps: of the embedded Postgres, too, for another version or machine, or for a DATABASE_URL;',
    '--files-only: the databases of DATABASE_URL are backed up by other means',
  ].join('\n      '),
  async run(args) {
    const { values, positionals } = readOptions(args, { 'files-only': FLAG, dumps: FLAG }, 1)
    const folder = positionals[0]!
    const config = configFor(values['files-only'])
    const made = await explained(
      backUp({
        config,
        target: folder,
        filesOnly: values['files-only'],
        asDumps: values.dumps,
        env: postgresEnvironment(),
      }),
    )
    process.stdout.write(
      [`${folder} is whole. Whoever can read it can read all secrets.`, ...missing(config, made), ''].join('\n'),
    )
  },
}

export const restoreBackup: Command = {
  usage: 'FOLDER [--files-only]',
  summary: 'brings a backup back, into an empty DATA_DIR and an empty database; no server may run on them',
  async run(args) {
    const { values, positionals } = readOptions(args, { 'files-only': FLAG }, 1)
    const config = configFor(values['files-only'])
    const made = await explained(
      restore({ config, backup: positionals[0]!, filesOnly: values['files-only'], env: postgresEnvironment() }),
    )
    process.stdout.write([`${config.DATA_DIR} is whole: start the server.`, ...missing(config, made), ''].join('\n'))
  },
}

function configFor(filesOnly: boolean): Config {
  const config = readConfig(process.env)
  if (filesOnly && !config.DATABASE_URL)
    throw new UsageError('--files-only is for a DATABASE_URL: the embedded Postgres is among the files.')
  return config
}

/** What else a restored server needs. */
function missing({ STORAGE_S3_BUCKET }: Config, { databases, keys }: Manifest): string[] {
  return [
    ...(keys ? [] : ['Not in it: SECRETS_KEYS. Without them nothing encrypted can be read again.']),
    ...(databases ? [] : ['Not in it: the databases.']),
    ...(STORAGE_S3_BUCKET ? [`Not in it: the bucket ${STORAGE_S3_BUCKET}.`] : []),
  ]
}

async function explained<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (error instanceof BackupError || error instanceof DumpError) throw new CommandError(error.message)
    throw error
  }
}
