/** `server backup`, `server restore`: all data of a server (docs/operations.md#backup-and-restore). */
import { backUp } from '../../app/backup/backup.ts'
import { BackupError, type Manifest } from '../../app/backup/contents.ts'
import { restore as restoreBackup } from '../../app/backup/restore.ts'
import { type Config, postgresEnvironment, readConfig } from '../../platform/config/config.ts'
import { DumpError } from '../../platform/postgres/pg-programs.ts'
import { CommandError, command, type Result, UsageError } from '../terminal/command.ts'

export const backup = command({
  examples: ['server backup /var/backups/pilothouse/2026-01-31', 'server backup /mnt/move --dumps'],
  define: (command) =>
    command
      .argument('<folder>', 'a new folder')
      .option(
        '--dumps',
        'also dump the embedded Postgres, for another Postgres version, another machine or a DATABASE_URL',
      )
      .option('--files-only', 'without the databases of DATABASE_URL, which you back up separately', false),
  async work(_, [folder], { dumps = false, filesOnly }) {
    const config = configFor(filesOnly)
    const made = await withCommandErrors(
      backUp({
        config,
        target: folder,
        filesOnly,
        asDumps: dumps,
        env: postgresEnvironment(),
      }),
    )
    return result(`The backup in ${folder} is complete. Protect it: it gives access to all secrets.`, config, made, {
      folder,
    })
  },
})

export const restore = command({
  examples: ['server restore /var/backups/pilothouse/2026-01-31'],
  define: (command) =>
    command
      .argument('<folder>', 'a folder that `server backup` wrote')
      .option('--files-only', 'without the databases of DATABASE_URL, which you restore separately', false),
  async work(_, [folder], { filesOnly }) {
    const config = configFor(filesOnly)
    const made = await withCommandErrors(
      restoreBackup({ config, backup: folder, filesOnly, env: postgresEnvironment() }),
    )
    return result(`Restored ${config.DATA_DIR}. Start the server.`, config, made, { data_dir: config.DATA_DIR })
  },
})

function result(done: string, config: Config, made: Manifest, json: object): Result {
  const missing = missingParts(config, made)
  return { outcome: 'done', json: { ...json, missing }, text: [done, ...missing].join('\n') }
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
