/**
 * How the agent of a revision is started: its start script, as `npm run start` would run it, without npm.
 */
import path from 'node:path'
import type { EffectiveSpec, RevisionWork } from '../../../../domain/protocol/protocol.ts'
import type { RevisionLog } from '../../runtime.ts'
import { prepareContext } from '../host/context.ts'
import type { Host } from '../host/host.ts'
import type { AgentPlan } from './agent.ts'
import { readArtifact } from './artifacts.ts'
import { containerPlan, isImage } from './container-plan.ts'
import type { Supervised } from './supervisor.ts'

/**
 * Opens artifact or image and database anew at each start: all may have moved since the last one. `spec`: limits of a
 * container. `owner`: of its processes, see Command.
 */
export function supervised(
  host: Host,
  deploymentId: string,
  revision: RevisionWork,
  spec: EffectiveSpec,
  log: RevisionLog,
  owner: string,
): Supervised {
  return {
    revisionId: revision.id,
    artifact: revision.artifact ?? '',
    note: (message) => log.write('deploy', message, 'error'),
    async plan(signal) {
      const plan = isImage(revision.source)
        ? await containerPlan(host, deploymentId, revision, spec, log, signal)
        : await agentPlan(host, deploymentId, revision, log, signal)
      return { ...plan, command: { ...plan.command, owner } }
    },
  }
}

async function agentPlan(
  host: Host,
  deploymentId: string,
  revision: RevisionWork,
  log: RevisionLog,
  signal: AbortSignal,
): Promise<AgentPlan> {
  const { app, accounts, env, mask } = await prepareContext(host, deploymentId, revision, signal)
  const { cwd, prestart, start } = readArtifact(app, revision.artifact)
  return {
    log,
    mask,
    port: host.agentPort,
    command: {
      command: '/bin/sh',
      args: prestart ? ['-c', 'sh -c "$1" && exec sh -c "$2"', 'sh', prestart, start] : ['-c', start],
      cwd,
      account: accounts.code,
      tagged: true,
      env: {
        ...env,
        PATH: `${binFolders(cwd, app.root)}:${env.PATH}`,
        npm_lifecycle_event: 'start',
        npm_package_json: path.join(cwd, 'package.json'),
        INIT_CWD: cwd,
      },
    },
  }
}

/** Scripts find the programs of their packages, of their own folder and those above. */
function binFolders(cwd: string, root: string): string {
  const folders: string[] = []
  for (let folder = cwd; folder.startsWith(root + path.sep); folder = path.dirname(folder))
    folders.push(path.join(folder, 'node_modules/.bin'))
  return folders.join(':')
}
