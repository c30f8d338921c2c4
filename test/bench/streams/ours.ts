/** Our server, with a Postgres of its own, for the bench of streams. Its settings are those everybody has. */
import { randomBytes, randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { buildApp } from '../../../src/app/app.ts'
import { transaction } from '../../../src/domain/context/context.ts'
import { issueKey } from '../../../src/domain/keys/issue.ts'
import { readConfig } from '../../../src/platform/config/config.ts'
import { serve } from './serve.ts'

const KEYS = 25
const dataDir = path.join(os.tmpdir(), `pilothouse-bench-${randomBytes(4).toString('hex')}`)
const config = { PORT: '0', HOST: '127.0.0.1', DATA_DIR: dataDir, LOG_LEVEL: 'silent', WORKER: 'off' }
const app = await buildApp(readConfig(config))
await app.start()
const { core } = app
const { id: workspaceId, organizationId } = await core.db.workspace.findFirstOrThrow()
const keys: string[] = []
for (let n = 0; n < KEYS; n++) {
  const how = { organizationId, workspaceId, name: `bench ${n}`, role: 'viewer', createdBy: null } as const
  keys.push((await transaction(core, (tx) => issueKey(tx, how))).text)
}
const [deploymentId, revisionId] = [randomUUID(), randomUUID()]

async function end(): Promise<void> {
  await app.close()
  await rm(dataDir, { recursive: true, force: true })
  process.exit()
}
process.once('disconnect', () => void end())
serve({ url: app.publicUrl(), keys }, (message) =>
  transaction(core, async (tx) =>
    tx.emit({
      workspaceId,
      type: 'revision.status',
      deploymentId,
      revisionId,
      from: 'BUILDING',
      to: 'AWAITING_DEPLOY',
      message,
      attempt: 1,
    } as never),
  ),
)
