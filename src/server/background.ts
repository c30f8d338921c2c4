/** What a server does without being asked: keeps up with what other servers say, enforces deadlines, works. */
import type { Logger } from 'pino'
import type { ApiKeys } from '../auth/api-key.ts'
import { type Config, ConfigError, engineEnvironment } from '../config.ts'
import type { Database } from '../database/client.ts'
import { type Listening, listen } from '../database/listen.ts'
import { createProcessRuntime } from '../dataplane/runtime/process/runtime.ts'
import type { Runtime } from '../dataplane/runtime/runtime.ts'
import { answering } from '../dataplane/timely.ts'
import { startWorker } from '../dataplane/worker.ts'
import { type Core, OAUTH_CHANNEL, WORK_CHANNEL } from '../domain/context.ts'
import { KEY_CHANNEL } from '../domain/keys/revoke.ts'
import { GITPROVIDER_CHANNEL } from '../domain/pushes/receive.ts'
import { removeUploads } from '../domain/uploads/remove.ts'
import { expire } from '../domain/work/expire.ts'
import { localControlPlane } from '../domain/work/local.ts'
import { startGitProviderJobs } from './gitprovider-jobs.ts'
import { startOAuthJobs } from './oauth-jobs.ts'
import { createSourceAccess } from './source-access.ts'
import { startSweep } from './sweep.ts'
import { createWakeup } from './wakeup.ts'

/** Uploads are kept for a day and more: nobody waits for their removal. */
const UPLOAD_SWEEP_SECONDS = 300

/** ms that the stop waits for calls at OAuth providers: what they answer can't be had a second time */
const UNDER_WAY_PATIENCE = 6000

/** ms that a report of the worker may take, locks that it waits for among it; then it is made again */
const REPORT_PATIENCE = 20_000

export interface BackgroundOptions {
  core: Core
  database: Database
  config: Config
  log: Logger
  /** of the database */
  url: string
  apiKeys: ApiKeys
  /** told when the worker has something that can't be ended: this process has to end */
  onStuck: (error: Error) => void
}

export interface Background {
  /** Stops taking work and gives every lease back; agents of this process end. At most some 8 s. */
  stop(): Promise<void>
}

/** One round, counted. */
async function sweepOnce(core: Core): Promise<void> {
  const began = performance.now()
  await expire(core)
  core.observer?.swept((performance.now() - began) / 1000)
}

/** Resolves when the server hears what others say and its worker is there. */
export async function startBackground(options: BackgroundOptions): Promise<Background> {
  const { core, database, config, log, url, apiKeys, onStuck } = options
  const news = createWakeup()
  core.news = news
  const oauthNews = createWakeup()
  core.oauthNews = oauthNews
  // what the server does by itself has connections of its own, so that neither it nor requests wait for the other
  const own: Core = { ...core, db: database.worker }
  const gitProviderJobs = core.gitProvider ? startGitProviderJobs(own) : null
  const listening = await new Promise<Listening>((resolve) => {
    const started = listen({
      url,
      channels: [WORK_CHANNEL, KEY_CHANNEL, OAUTH_CHANNEL, ...(gitProviderJobs ? [GITPROVIDER_CHANNEL] : [])],
      onNotify(channel, payload) {
        if (channel === KEY_CHANNEL) apiKeys.forget(payload)
        else if (channel === OAUTH_CHANNEL) oauthNews.ring(payload)
        else if (channel === GITPROVIDER_CHANNEL) gitProviderJobs?.wake()
        else news.ring(payload || null)
      },
      onConnect() {
        // whatever was said while there was no connection was missed
        apiKeys.forgetAll()
        news.ringAll()
        oauthNews.ringAll()
        gitProviderJobs?.wake()
        resolve(started)
      },
      log,
    })
  })
  let worker: Background | null = null
  try {
    if (config.WORKER && config.RUNTIME !== 'none') worker = await startOwnWorker()
  } catch (error) {
    await Promise.all([listening.close(), gitProviderJobs?.stop()])
    throw error
  }
  const sweep = startSweep(() => sweepOnce(own), config.SWEEP_SECONDS, log)
  const uploadSweep = startSweep(() => removeUploads(own), UPLOAD_SWEEP_SECONDS, log)
  const oauthJobs = startOAuthJobs(own, config.SWEEP_SECONDS)
  return {
    async stop() {
      // listeners that wait here for work are told at once that there is none
      news.close()
      oauthNews.close()
      await Promise.all([
        sweep.stop(),
        uploadSweep.stop(),
        worker?.stop(),
        gitProviderJobs?.stop(),
        oauthJobs.stop(),
        core.underWay.close(UNDER_WAY_PATIENCE),
      ])
      await listening.close()
    },
  }

  async function startOwnWorker(): Promise<Background> {
    const runtime =
      config.RUNTIME === 'kubernetes' ? await openKubernetesRuntime(config, log) : openProcessRuntime(own, config, url)
    const started = await startWorker({
      controlPlane: answering(localControlPlane(own), REPORT_PATIENCE),
      runtime,
      leaseSeconds: config.LEASE_SECONDS,
      log,
      onStuck,
    })
    return {
      async stop() {
        await started.stop()
        await runtime.close()
      },
    }
  }
}

/** Throws ConfigError when the kubeconfig is of no use. */
async function openKubernetesRuntime(config: Config, log: Logger): Promise<Runtime> {
  // its client takes a second to load, which no other server has to wait for
  const { openPlace } = await import('../listener/place.ts')
  return (await openPlace(config, config.K8S_NAMESPACE ?? null, log)).runtime
}

/** Throws ConfigError: what can be wrong here is the account that builds and agents run under, or the folder. */
function openProcessRuntime(core: Core, config: Config, adminUrl: string): Runtime {
  try {
    return createProcessRuntime({
      dataDir: config.DATA_DIR,
      gitDirectory: config.GIT_DIRECTORY,
      adminUrl,
      appHost: config.APP_HOST,
      appPorts: config.APP_PORTS,
      appUser: config.APP_USER,
      sources: createSourceAccess(core),
      containerEngine: config.CONTAINER_ENGINE,
      engineEnvironment: engineEnvironment(),
    })
  } catch (cause) {
    throw new ConfigError(`The process runtime can't be used: ${(cause as Error).message}. Or set RUNTIME=none.`, {
      cause,
    })
  }
}
