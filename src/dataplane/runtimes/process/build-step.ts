/**
 * The BUILD step on this machine: gives a build its folder, account and process groups.
 */
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { buildSource } from '../../build/build.ts'
import type { OnLine } from '../../output/lines.ts'
import { maskFailures } from '../../output/mask-failure.ts'
import type { Built, RevisionLog, RevisionStep } from '../runtime.ts'
import { keepArtifact } from './agents/artifacts.ts'
import { prepareContext } from './host/context.ts'
import type { Host } from './host/host.ts'
import { runGroup } from './os/group.ts'
import { launcher } from './os/launcher.ts'
import { temporaryFolder } from './os/layout.ts'
import { giveAll, removeAll } from './os/remove.ts'
import { inPath } from './os/toolchain.ts'

/** Settings that keep package managers from asking, advertising and phoning home. */
const BUILD_ENV = {
  CI: 'true',
  npm_config_update_notifier: 'false',
  npm_config_fund: 'false',
  npm_config_audit: 'false',
  COREPACK_ENABLE_DOWNLOAD_PROMPT: '0',
}

/** Rejects when the signal aborts, after all processes of the build have ended. */
export async function runBuild(
  host: Host,
  deploymentId: string,
  step: RevisionStep,
  log: RevisionLog,
  signal: AbortSignal,
  onCommit: (commit: string) => void,
): Promise<Built> {
  const { revision } = step
  const credentials =
    revision.source === 'gitprovider' ? await host.options.sources.gitCredentials(deploymentId, signal) : null
  const hidden = credentials ? [credentials.password] : []
  const { app, accounts, env, mask } = await prepareContext(host, deploymentId, revision, signal, hidden)
  const folder = path.join(app.builds, randomUUID())
  fs.mkdirSync(folder, { mode: 0o711 })
  const temporary = temporaryFolder(app, accounts.code, 'build-')
  try {
    return await maskFailures(
      mask,
      (reason) => log.write('build', reason, 'error'),
      async () => {
        await buildSource({
          revision,
          folder,
          gitDirectory: host.options.gitDirectory,
          sources: host.options.sources,
          credentials,
          searchPath: host.searchPath,
          ssh: host.accounts.ssh,
          has: (program) => inPath(host.searchPath, program),
          env: { ...BUILD_ENV, ...env, TMPDIR: temporary },
          async run(command, onLine) {
            const account = command.asServer ? null : accounts.code
            const print: OnLine = (shown, line) => {
              onLine(shown, line)
              if (!command.asServer) log.print('build', shown)
            }
            const confined = account ? launcher('build') : []
            const own = { account, mask, owner: step.id, tagged: !command.asServer, launcher: confined }
            return runGroup(host.reaper, { ...command, ...own }, print, signal)
          },
          async own(tree) {
            if (accounts.code) await giveAll(tree, accounts.code)
          },
          log: (line, level) => log.write('build', mask(line), level),
          onCommit,
          signal,
        })
        signal.throwIfAborted()
        const artifact = `${revision.id}.${revision.attempt}.${step.tries}`
        await keepArtifact(app, folder, artifact, accounts.code, signal)
        return { artifact }
      },
    )
  } finally {
    await removeAll(folder, temporary)
  }
}
