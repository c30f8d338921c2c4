/** Operations of listeners: claim work and report it (docs/protocol.md). */
import {
  CALLS,
  claimForListener,
  completeForListener,
  heartbeatOfListener,
  logsOfListener,
  metricsOfListener,
  releaseForListener,
} from '../../../domain/claims/control-plane.ts'
import { claimAnswer, completeAnswer, heartbeatAnswer } from '../../../domain/protocol/answers.ts'
import { messageResponse, noContent, type Operation, operation } from '../framework/operation.ts'

const call = { method: 'POST', tag: 'Data plane', idempotency: 'not-documented', isTraced: false } as const

/** The protocol for authors of listeners: description of the tag in the OpenAPI document. */
export const DATA_PLANE_GUIDE = `How a listener gets its work. The control plane never connects to a listener. The listener sends calls with a key of role
\`listener\` that was made for it. It gets only the deployments that name it.

**Claim and lease.** A claim is a lease on one deployment. It lasts \`lease_seconds\` from the beginning of the call that gave or
extended it. Only the lease holder works on the deployment. Extend all leases with one \`heartbeat\` every third or fourth of that time, or more often.
Measure a lease by your own clock, from before you sent the call. Stop all steps of a claim shortly before its lease ends if no
heartbeat was answered: after the end another holder may have the claim. Deployments that serve continue to serve, but don't change them any more. A serving deployment ends when
a holder with a newer token switches it, tears it down, or reports that nothing should run.
Let no call wait longer than a quarter of its \`lease_seconds\`, because the lease already runs while the call waits.

**Token.** \`token\` grows with each claim of a deployment. Send it with every call of the claim. If the lease or the token is not valid any
more, the answer is 409 with code \`CLAIM_LOST\` (in a heartbeat: \`lost\`), and nothing was changed. Stop all work of this claim, report nothing, and never use the token again.
Store the token with everything that you write elsewhere. Never overwrite anything that has a larger token.

**Run and step.** Each claim has a \`run\` and a \`step\`. Compare them with the actual state and act, again and again. \`run\` is the revision that must serve now
(null: none). Keep it serving and repair it, also after your own restart. \`step\` is the next action, at most one at a time.
\`PROVISION\` creates what a deployment needs before its first revision (database, cache). \`BUILD\` makes an artifact from the
revision's source; revisions with an \`image_uri\` need none. \`DEPLOY\` switches to the revision. It is done when the revision
serves and the old one has stopped. \`TEARDOWN\` removes everything. A failed \`DEPLOY\` leaves \`run\` serving.
Report each step with \`complete\`; the answer has the next step. After a successful \`TEARDOWN\` the claim ends.
The agent gets its secrets and secret references as environment variables. You add \`DATABASE_URI\` and \`POSTGRES_URI\` (the same value),
\`REDIS_URI\` and \`PORT\`. Derive the names of the resources that you create from \`deployment.id\`: \`name\` is for people.

**Generation.** It grows with every change of run, step or \`stop\`. Send the newest generation that you know in the heartbeat: the answer has only newer assignments. If two
answers cross, use the one with the larger generation.

**Stop.** \`stop: true\` means that your current step was withdrawn (interrupted, superseded, or past its deadline). Stop it, restore \`run\`, and complete the step as
\`stopped\`. Only then you get the next step. If you know of no such step, release the claim.

**Deadlines and tries.** A step's deadline counts from its first try, across holders. At \`deadline_at\` the control plane fails the step; \`seconds_left\` in a heartbeat may move the deadline of a deploy. An expired lease costs a
try of its step; after three tries the step fails. A release costs no try. A failed \`TEARDOWN\` is repeated later automatically.

**When an answer is lost.** Repeat the call. Heartbeats can be repeated. A repeated \`complete\` gets the first answer, except 409 for a \`TEARDOWN\`. A \`release\` that worked answers
409 the second time. Log lines that are sent twice are stored twice. If the connection of a claim call breaks before the answer was written, its claims are
free immediately. After any other lost answer they are free when their lease ends.

**When to give up.** On 401, 403 and 404 a person has to check the key or the listener's id: repeat the call slowly. On 422 this listener and
the control plane are not compatible: don't repeat the same call. If the report of a step was refused, report the step as failed, with
only a \`message\`. A call that contains a NUL character or half a surrogate pair is refused as a whole: replace these characters first. On 429, 5xx, or no answer: repeat the call with growing pauses. The lease limits how long the work may continue.`

const CLAIM_LOST = '409 with code `CLAIM_LOST`: the lease has ended or the token is old. Nothing was changed.'

export const claims: Operation[] = [
  operation({
    ...call,
    path: '/v2/listeners/{listener_id}/claims',
    operationId: 'claimWork',
    summary: 'Lease deployments that have no holder',
    description:
      'Each claim has the revision that must serve (`run`) and its `step`. The call takes the step, so its deadline runs. ' +
      'One answer has at most 100 claims, even if `max` is larger; repeat the call while it returns claims. The list is empty if there was no work for `wait_seconds`. ' +
      'Always keep such a call open to get work immediately. Replicas of a listener share its deployments by calling concurrently. ' +
      'The call also reports that the listener is alive.',
    input: CALLS.claim.input,
    ...messageResponse('The new claims.', claimAnswer, async (ctx, raw) => ({
      claims: await claimForListener(ctx, raw),
    })),
    errors: [404],
  }),
  operation({
    ...call,
    path: '/v2/listeners/{listener_id}/heartbeat',
    operationId: 'heartbeat',
    keepsLease: true,
    summary: 'Extend leases, report health, and get new assignments',
    description:
      'One call covers all claims of a holder. It extends the leases and records health when it begins. With `wait_seconds` it ' +
      'answers when a claim has something new, at the latest after that time or half of `lease_seconds`. ' +
      'Only claims with something new have an `assignment`. If there are very many, some follow in the next answer. ' +
      'Leave out a lost claim from then on. A call with an empty list only reports that the listener is alive. ' +
      'The body may have at most 1 MiB: keep health messages short, or send several calls.',
    input: CALLS.heartbeat.input,
    ...messageResponse('The state of each claim.', heartbeatAnswer, async (ctx, raw) => ({
      claims: await heartbeatOfListener(ctx, raw),
    })),
    errors: [404],
  }),
  operation({
    ...call,
    path: '/v2/listeners/{listener_id}/claims/{claim_id}/logs',
    operationId: 'appendLogs',
    summary: 'Append lines to the log of a revision',
    description:
      `Use type \`build\` for the output of a build, \`deploy\` for the rollout and the output of the agent. ` +
      `Lines keep their order. Each line is cut at 8 KiB. The body may have at most 1 MiB. ${CLAIM_LOST}`,
    input: CALLS.logs.input,
    ...noContent('The lines are stored.', logsOfListener),
    errors: [404, 409],
  }),
  operation({
    ...call,
    path: '/v2/listeners/{listener_id}/metrics',
    operationId: 'storeMetrics',
    summary: 'Store samples of metrics',
    description:
      'One call has the samples of all deployments of a holder, of 10 s each. Send it every 20 s or less often. ' +
      'Samples are ignored if they are repeated, older than an hour, or of a deployment that is not the listener’s. ' +
      'Don’t repeat a call that fails: measure on.',
    input: CALLS.metrics.input,
    ...noContent('The samples are stored.', metricsOfListener),
    errors: [404],
  }),
  operation({
    ...call,
    path: '/v2/listeners/{listener_id}/claims/{claim_id}/complete',
    operationId: 'completeStep',
    keepsLease: true,
    summary: 'Report how a step ended',
    description:
      'The answer has the next assignment. `recorded: false`: the step had already ended (interrupted, superseded, or past its deadline), ' +
      'so the outcome changed nothing. Undo a `DEPLOY` then, so that `run` serves. ' +
      'Send `repo_commit_sha` and `artifact` with a successful `BUILD`. Send `repo_commit_sha`, if known, with a failed or stopped one, ' +
      `so that a redeploy builds the same commit. Repeat the call if its answer was lost. ${CLAIM_LOST}`,
    input: CALLS.complete.input,
    ...messageResponse(
      'Whether the outcome was recorded, and the next assignment.',
      completeAnswer,
      completeForListener,
    ),
    errors: [404, 409],
  }),
  operation({
    ...call,
    path: '/v2/listeners/{listener_id}/claims/{claim_id}/release',
    operationId: 'releaseClaim',
    keepsLease: true,
    summary: 'Give a lease back',
    description:
      'Another holder can take the deployment immediately. A step in progress loses no try. Stop all work of the claim first. ' +
      `A listener calls it when it shuts down. ${CLAIM_LOST}`,
    input: CALLS.release.input,
    ...noContent('The deployment has no holder.', releaseForListener),
    errors: [404, 409],
  }),
]
