/**
 * The process runtime: runs deployments as processes of this machine, for all servers that share the machine and a
 * DATA_DIR. Builds are children of the server. Supervisors run the agents and outlive the server.
 */
import os from 'node:os'
import type { Run } from '../../domain/protocol/protocol.ts'
import type { DoorFigures } from '../../domain/values/door-figures.ts'
import { unlessAborted, withTimeout } from '../../platform/async/time-limit.ts'
import { maskFailures, warnOfShortSecrets } from '../output/mask.ts'
import { imageOf, imageVersion } from '../runtimes/artifact.ts'
import { BuildQueue } from '../runtimes/build-queue.ts'
import { QueueBacklogs } from '../runtimes/queue-backlogs.ts'
import type { Candidate, LeasedClaim, OnProgress, RevisionLog, RevisionStep, Runtime } from '../runtimes/runtime.ts'
import { StepCalls } from '../runtimes/step-calls.ts'
import { telemetryVariables } from '../runtimes/telemetry-variables.ts'
import { pruneAgentServers } from './artifacts/agent-servers.ts'
import { pruneArtifacts } from './artifacts/artifacts.ts'
import { runBuild } from './build-step.ts'
import type { Certificate, DoorProgram } from './door/messages.ts'
import { AccessPush } from './door/server-link.ts'
import { giveToDoor, updateDoor } from './door/start-door.ts'
import { createDatabase, databaseUri, dropDatabase } from './isolation/database.ts'
import { resourceLimitsOf, withProblem } from './isolation/resource-limits.ts'
import { removeTrees } from './isolation/untrusted-trees.ts'
import { prepareContext, prepareFolders } from './machine/app-context.ts'
import { createMachine, type ProcessRuntimeOptions } from './machine/machine.ts'
import { releasePort } from './machine/ports.ts'
import { livingWorkers, registerWorker, releaseDeadWorkers } from './machine/worker-registry.ts'
import { createMeasure } from './measure.ts'
import { agentPlan, isContainer, keyOf } from './supervisor-client/agent-plan.ts'
import { prepareImage } from './supervisor-client/container-plan.ts'
import { type Ended, endAgents, endOrphans } from './supervisor-client/end-agents.ts'
import { pullReference } from './supervisor-client/pull.ts'
import { SupervisedDeployment } from './supervisor-client/supervised.ts'
import { supervisorFiles } from './supervisor-client/supervisor-files.ts'

/** A deploy fails with its cause this long before its deadline, because the sweep would end it without one. */
const DEADLINE_MARGIN_MS = 3000
/** for requests in flight when agents end with their server */
const DRAIN_MS = 2000
/** longest wait of a request for the start of a sleeping agent */
const MAX_WAKE_MS = 60_000
/** upper limit of an agent's grace period when its deployment is deleted */
const MAX_TEARDOWN_DRAIN_SECONDS = 30

export interface ProcessRuntime extends Runtime {
  /** Gives the door its certificate; null: none. */
  sendCertificate(certificate: Certificate | null): Promise<void>
  /** What the door counted; null: no door runs. */
  requestFigures(): Promise<DoorFigures | null>
  /** Tells the door who may call which deployment. Throws when the database is unavailable. */
  tellDoor(): Promise<void>
  /** Creates the file of the access log when it is missing, for the door. Throws when lines can't be written. */
  checkAccessLog(): Promise<void>
  /** Ends the agents of deployments that no longer exist. `findDeleted` returns their ids. */
  endOrphans(findDeleted: (deploymentIds: string[]) => Promise<string[]>): Promise<Ended[]>
}

/** Share of a core. An agent that uses more works, and does not fall asleep. */
const BUSY_SHARE = 0.05

/** Throws when the account for builds and agents does not exist. */
export function createProcessRuntime(options: ProcessRuntimeOptions): ProcessRuntime {
  const machine = createMachine(options)
  const builds = new BuildQueue(options.maxBuilds ?? Math.max(2, os.availableParallelism()))
  const calls = new StepCalls()
  const all = new Map<string, SupervisedDeployment>()
  const { measure, usageOf } = createMeasure(doorFigures, (names) => machine.containers.pids(names))
  /** performance.now() of the last call of `measure` */
  let measuredAt = performance.now()
  const queues = new QueueBacklogs(options.queues)
  void machine
    .door()
    .then(updateDoor)
    .catch((error: Error) => options.warn?.(`The running door could not be replaced by this version: ${error.message}`))
  const access = options.access ? new AccessPush(options.access, machine.doorLink) : null
  const tellDoor = async () => access?.push()
  const { minutes, minuteMs = 60_000, wakeMs = MAX_WAKE_MS } = options.idle ?? { minutes: 15 }
  let ownHolder: string | null = null
  let door: DoorProgram | null = null

  function supervisedOf(claim: LeasedClaim): SupervisedDeployment {
    const { id } = claim.deployment
    const before = all.get(id)
    if (before) return before
    const made = new SupervisedDeployment(machine, claim, () => {
      if (all.get(id) === made) all.delete(id)
    })
    all.set(id, made)
    return made
  }

  /** In the background: a database that does not answer delays no metrics. */
  function lookAtQueues(): void {
    const serving = [...all].flatMap(([deploymentId, { measurable }]) => {
      const uri = () => databaseUri(machine.databaseAdmin, deploymentId, machine.layout.app(deploymentId).database)
      return measurable.serving ? [{ deploymentId, revisionId: measurable.serving.revisionId, uri }] : []
    })
    void queues.look(serving)
  }

  async function doorFigures(): Promise<DoorFigures | null> {
    const { figures: agents, droppedLogLines = 0 } = (await machine.doorLink.request({ do: 'figures' })) ?? {}
    return agents ? { agents, droppedLogLines } : null
  }

  const defaultsOf = ({ deployment }: LeasedClaim, revision: { id: string }) =>
    telemetryVariables(options.otlpEndpoint, { ...deployment, deploymentId: deployment.id, revisionId: revision.id })

  async function deploy(
    claim: LeasedClaim,
    step: RevisionStep,
    log: RevisionLog,
    signal: AbortSignal,
    onProgress: OnProgress,
  ): Promise<Candidate> {
    const { id } = claim.deployment
    const { revision } = step
    const context = { machine, deploymentId: id, revision, log, signal }
    const { mask } = await prepareContext(context)
    warnOfShortSecrets(revision.secrets, log, 'deploy')
    return maskFailures(
      mask,
      (reason) => log.write('deploy', reason, 'error'),
      async () => {
        machine.databaseLimits.watch(id, step.spec)
        const supervised = supervisedOf(claim)
        onProgress({ reason: 'IN_PROGRESS', message: 'Opening the address of the deployment.' })
        step.phase?.('open the address')
        const url = await supervised.open(claim, signal)
        // a new deployment must not be unknown at its first request
        await tellDoor()
        const until = Math.max(performance.now() + 1000, step.deadline - DEADLINE_MARGIN_MS)
        const reference = imageOf(revision)
        const image = isContainer(revision)
          ? await withTimeout(until - performance.now(), signal, (inTime) => {
              // an image that was built here needs no pull
              if (!pullReference(reference).local)
                onProgress({ reason: 'PULLING_IMAGE', message: `Pulling the image ${reference}.` })
              return prepareImage({ ...context, signal: inTime })
            })
          : null
        const plan = await agentPlan({ ...context, defaults: defaultsOf(claim, revision) }, step.spec)
        step.phase?.('start the agent')
        const left = Math.max(1000, until - performance.now())
        const { commit, discard } = await supervised.prepare(claim, plan, left, signal, onProgress)
        // the log has the local address; the custom_url of an external image is the user's own
        if (image) log.write('deploy', `The address of this deployment is ${url}`)
        return {
          url,
          ...(image ? { imageVersion: imageVersion(reference ?? '') ?? image.digest ?? undefined } : {}),
          commit,
          discard,
        }
      },
    )
  }

  return {
    provision: (claim, step, signal, onProgress = () => undefined) =>
      calls.run(step.id, async () => {
        signal.throwIfAborted()
        onProgress({ reason: 'IN_PROGRESS', message: 'Preparing: creating accounts and folders.' })
        const { app } = await prepareFolders(machine, claim.deployment.id, signal)
        onProgress({ reason: 'IN_PROGRESS', message: 'Preparing: creating the database, or waiting for its turn.' })
        await createDatabase(machine.databaseAdmin, claim.deployment.id, app.database, signal)
      }),

    build: (claim, step, log, signal, onCommit = () => undefined, onProgress, onPlan) =>
      builds.run({ log, signal, onProgress, onPlan }, (stepLog, onPlanned) =>
        calls.run(step.id, () => runBuild(machine, claim.deployment.id, step, stepLog, signal, onCommit, onPlanned)),
      ),

    deploy: (claim, step, log, signal, onProgress = () => undefined) =>
      calls.run(
        step.id,
        () => deploy(claim, step, log, signal, onProgress),
        (candidate) => candidate.discard(),
      ),

    teardown: (claim, step, signal) =>
      calls.run(step.id, async () => {
        const { id } = claim.deployment
        const { termination_grace_seconds: graceSeconds } = step.spec
        const drainSeconds = Math.min(graceSeconds ?? options.supervisors.drainSeconds, MAX_TEARDOWN_DRAIN_SECONDS)
        // after an abort, the next holder waits for the same end
        await unlessAborted(signal, supervisedOf(claim).end(claim, drainSeconds * 1000))
        await machine.sleeping.forget(id)
        await machine.containers.sweep(id)
        machine.databaseLimits.unwatch(id)
        await dropDatabase(machine.databaseAdmin, id, signal)
        releasePort(machine.ports, id)
        await machine.images.remove(id)
        await removeTrees(supervisorFiles(options.dataDir, id).output)
        await machine.accounts.remove(id)
      }),

    async destroy(stepId) {
      // the abort signal closes its database connections (isolation/database.ts)
      await machine.reaper.kill(stepId)
      calls.abandon(stepId)
    },

    ensure(claim: LeasedClaim, run: Run | null, log: RevisionLog | null) {
      const { id } = claim.deployment
      if (run) machine.databaseLimits.watch(id, run.spec)
      supervisedOf(claim).ensure(
        claim,
        run &&
          log && {
            key: keyOf(run),
            ...(run.restartedAt && { restart: { at: run.restartedAt, log } }),
            revisionId: run.revision.id,
            memoryMb: resourceLimitsOf(run.spec, machine.defaultLimits).memoryMb,
            ...(run.spec.min_scale === 0 && { idleMs: (run.idleMinutes ?? minutes) * minuteMs, wakeMs }),
            redeploying: claim.step?.revision?.id === run.revision.id,
            plan: (signal) =>
              agentPlan(
                { machine, deploymentId: id, defaults: defaultsOf(claim, run.revision), ...run, log, signal },
                run.spec,
              ),
          },
      )
    },

    async prune(deploymentId, keepArtifacts) {
      const used = await all.get(deploymentId)?.inUse()
      // unknown or failed removals are repeated by the next prune
      if (!used) return
      await machine.containers.sweep(deploymentId, used.containers).catch(() => undefined)
      const keep = [...keepArtifacts, ...used.artifacts]
      await pruneArtifacts(machine.layout.app(deploymentId), keep)
      await pruneAgentServers(machine.layout)
      await machine.images.prune(deploymentId, keep)
    },

    // its steps have ended, and the serving agent needs no server
    drop: async (deploymentId) => machine.databaseLimits.unwatch(deploymentId),
    health(deploymentId) {
      const health = withProblem(all.get(deploymentId)?.health, machine.databaseLimits.problem(deploymentId))
      return withProblem(health, queues.problem(deploymentId))
    },
    restarts: (deploymentId) => all.get(deploymentId)?.restarts ?? [],
    idle: (deploymentId) => all.get(deploymentId)?.isAsleep,
    async measure() {
      lookAtQueues()
      const since = measuredAt
      measuredAt = performance.now()
      const measured = await measure(
        [...all].map(([id, { measurable }]) => ({ ...measurable, backlog: queues.backlog(id) })),
      )
      const busySeconds = (BUSY_SHARE * (measuredAt - since)) / 1000
      for (const { deploymentId, measures } of measured)
        if ((measures.cpu_seconds ?? 0) > busySeconds || queues.hasOpenRuns(deploymentId))
          all.get(deploymentId)?.wasBusy()
      return measured
    },
    url: (deploymentId) => all.get(deploymentId)?.url,
    registerHolder(holder) {
      ownHolder = holder
      return registerWorker(machine.layout.workers, holder)
    },
    releaseDeadHolders: (release) => releaseDeadWorkers(machine.layout.workers, release),

    async sendCertificate(certificate) {
      await machine.doorLink.request({ do: 'certificate', certificate })
    },
    async requestFigures() {
      const figures = await doorFigures()
      for (const [id, supervised] of all) {
        const usage = usageOf(supervised.measurable)
        const agent = figures?.agents[id]
        if (agent && usage) agent.usage = usage
      }
      return figures
    },
    tellDoor,
    async checkAccessLog() {
      const file = options.access?.settings().accessLog
      if (file === undefined) return
      door ??= await machine.door()
      await giveToDoor(file, door.account)
      if (access?.logProblem) throw new Error(access.logProblem)
    },
    endOrphans: (findDeleted) => endOrphans(options.dataDir, options.supervisors.installation, findDeleted),

    async close({ endAgents: endsAgents } = { endAgents: false }) {
      const deployments = [...all.values()]
      if (endsAgents)
        await Promise.all(deployments.map((supervised) => supervised.endOwn(DRAIN_MS).catch(() => undefined)))
      await Promise.all(deployments.map((supervised) => supervised.close()))
      // ends agents that this server did not hold, unless another server lives
      machine.sleeping.close()
      if (endsAgents && livingWorkers(machine.layout.workers, ownHolder).length === 0)
        await endAgents(options.dataDir, DRAIN_MS)
      await machine.doorLink.close()
      machine.databaseLimits.close()
      machine.accounts.close()
      machine.reaper.close()
    },
  }
}
