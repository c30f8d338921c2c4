/** The data plane over REST (docs/protocol.md): how a listener gets its work and says what became of it. */
import {
  CALLS,
  claimForListener,
  completeForListener,
  heartbeatOfListener,
  logsOfListener,
  releaseForListener,
} from '../../../domain/claims/control-plane.ts'
import { toWire } from '../../../domain/parsing/codec.ts'
import { claimAnswer, completeAnswer, heartbeatAnswer } from '../../../domain/protocol/answers.ts'
import { noContent, type Operation, operation } from '../framework/operation.ts'

const tag = 'Data plane'

/** The protocol as a whole, for whoever writes a listener: the tag's description in the document. */
export const DATA_PLANE_GUIDE = `How a listener gets its work. The control plane never connects out: a listener asks, with a key of role
\`listener\` that was made for it, and gets the deployments that name it, no others.

**Claim and lease.** A claim is a lease on one deployment, for \`lease_seconds\` from the beginning of the call that gave or
extended it. Only its holder works on the deployment. Extend all of them with one \`heartbeat\` each third or fourth of that time, or more often.
By your own clock, count a lease from before you sent the call, and stop all steps of a claim shortly before its lease ends if no
heartbeat was answered in the meantime: from the end on somebody else may have it. What serves goes on serving, only stop changing it: it ends when
a holder with a newer token switches it, tears it down, or says that nothing is to run.
So let no call wait longer than a quarter of its \`lease_seconds\`: the time that it waited is not yours to count.

**Token.** \`token\` grows with each claim of a deployment. Send it with every call of the claim. When lease or token are not valid any
more the answer is 409 with code \`CLAIM_LOST\` (in a heartbeat: \`lost\`), and nothing was changed: stop all work of this claim, report nothing, and never use the token again.
Put it on whatever you write elsewhere, and write nothing over what has a larger one.

**Run and step.** A claim says two things, again and again; compare them with what there is, and act. \`run\` is what must be serving now
(null: nothing); keep it so and repair it, also when you have just started. \`step\` is what moves the deployment on, at most one at a time:
\`PROVISION\` makes what a deployment needs before its first revision (database, cache); \`BUILD\` makes an artifact of the
revision's source (revisions with an \`image_uri\` need none); \`DEPLOY\` makes the revision the one that serves and is done when it
serves and the old one does not any more; \`TEARDOWN\` removes everything. A \`DEPLOY\` that fails leaves \`run\` serving.
Report each with \`complete\`; its answer has the next step. After a \`TEARDOWN\` that succeeded the claim is over.
What is deployed gets its secrets and secret references as environment variables, and from you \`DATABASE_URI\` and \`POSTGRES_URI\` (the same),
\`REDIS_URI\` and \`PORT\`. Names of what you make come from \`deployment.id\`: \`name\` is for people.

**Generation.** It grows with every change of run, step or \`stop\`. Name the newest you know in the heartbeat: it is answered only what is newer. Of two
answers that crossed, the one with the larger generation counts.

**Stop.** \`stop: true\`: the step that you work on was withdrawn (interrupted, superseded, or past its deadline). End it, bring \`run\` back, and complete it as
\`stopped\`; only then the next step is handed out. If you know of no such step, release the claim.

**Deadlines and tries.** A step's deadline runs from its first try, across holders; at \`deadline_at\` the control plane fails it by itself. A lease that runs out costs a
try of its step; after three the step fails. A release costs none. A failed \`TEARDOWN\` comes again by itself, later.

**When an answer is lost.** Ask again. Heartbeats can be repeated. A \`complete\` that is repeated is answered as the first time, only that of a \`TEARDOWN\` with 409. A \`release\` that worked answers
409 the second time. Log lines that are sent twice are there twice. The claims of a claim call whose connection broke before the answer was written are
free again at once; of any other lost answer, when their lease ends.

**When to give up.** On 401, 403 and 404 somebody has to look at the key or the listener's id: ask again, but slowly. On 422 this listener and
the control plane don't understand each other: don't repeat the same call; a step whose report was refused is best reported as failed, with
nothing but a \`message\`. Text with a NUL character or half a surrogate pair is refused too, with the whole call: replace them first. On 429, 5xx, or no answer at all: ask again, with pauses that grow; the lease decides how long the work goes on.`

const CLAIM_LOST = '409 with code `CLAIM_LOST`: the lease is over or the token is old; nothing was changed.'

export const claims: Operation[] = [
  operation({
    method: 'POST',
    path: '/v2/listeners/{listener_id}/claims',
    operationId: 'claimWork',
    summary: 'Lease deployments that have no holder',
    description:
      'Each comes with what must be serving (`run`) and its `step`, which is taken with it: its deadline runs. ' +
      'At most 100 in one answer, whatever `max` says; ask again while there are some. An empty list: there was nothing to do for `wait_seconds`. ' +
      'Keep such a call open at all times to get work at once. Replicas of a listener share its deployments by asking side by side. ' +
      'The call also counts as a sign of life.',
    tag,
    input: CALLS.claim.input,
    idempotency: 'not-documented',
    responses: { 200: { description: 'The new claims.', schema: claimAnswer.in } },
    errors: [404],
    handle: async (ctx, raw) => ({
      status: 200,
      body: toWire(claimAnswer, { claims: await claimForListener(ctx, raw) }),
    }),
  }),
  operation({
    method: 'POST',
    path: '/v2/listeners/{listener_id}/heartbeat',
    operationId: 'heartbeat',
    keepsLease: true,
    summary: 'Extend leases, report health, hear what is new',
    description:
      'One call for all claims of a holder. Leases are extended, and health recorded, as the call begins; with `wait_seconds` it ' +
      'is answered when something is new for any of the claims, at the latest after that time or half of `lease_seconds`. ' +
      '`assignment` is there only for claims with something new; when very much is new, some of it comes with the next call. ' +
      'A claim that is lost must be left out from then on. An empty list of claims is a sign of life. ' +
      'The body may have 1 MiB: keep the messages of health short, or make several calls.',
    tag,
    input: CALLS.heartbeat.input,
    idempotency: 'not-documented',
    responses: { 200: { description: 'What is new of each claim.', schema: heartbeatAnswer.in } },
    errors: [404],
    handle: async (ctx, raw) => ({
      status: 200,
      body: toWire(heartbeatAnswer, { claims: await heartbeatOfListener(ctx, raw) }),
    }),
  }),
  operation({
    method: 'POST',
    path: '/v2/listeners/{listener_id}/claims/{claim_id}/logs',
    operationId: 'appendLogs',
    summary: 'Append lines to the log of a revision',
    description:
      `Type \`build\` for what a build prints, \`deploy\` for the roll-out and what the agent prints. ` +
      `Lines are kept in the order sent; each is cut at 8 KiB. The body may have 1 MiB. ${CLAIM_LOST}`,
    tag,
    input: CALLS.logs.input,
    idempotency: 'not-documented',
    ...noContent('They are stored.', logsOfListener),
    errors: [404, 409],
  }),
  operation({
    method: 'POST',
    path: '/v2/listeners/{listener_id}/claims/{claim_id}/complete',
    operationId: 'completeStep',
    keepsLease: true,
    summary: 'Report how a step ended',
    description:
      'Answers what to do next. `recorded: false`: the step had been closed in the meantime (interrupted, superseded, past its deadline) ' +
      'and the outcome changed nothing; a `DEPLOY` is undone then, so that `run` serves. ' +
      'A `BUILD` that succeeded brings `repo_commit_sha` and `artifact`; one that failed or was stopped brings `repo_commit_sha`, ' +
      `if it knows it: it is kept also then, so that a redeploy builds the same commit. May be repeated when its answer was lost. ${CLAIM_LOST}`,
    tag,
    input: CALLS.complete.input,
    idempotency: 'not-documented',
    responses: { 200: { description: 'Whether it counts, and what to do next.', schema: completeAnswer.in } },
    errors: [404, 409],
    handle: async (ctx, raw) => ({ status: 200, body: toWire(completeAnswer, await completeForListener(ctx, raw)) }),
  }),
  operation({
    method: 'POST',
    path: '/v2/listeners/{listener_id}/claims/{claim_id}/release',
    operationId: 'releaseClaim',
    keepsLease: true,
    summary: 'Give a lease back',
    description:
      'Somebody else can have the deployment at once; a step under way costs no try. Stop all work of the claim first. ' +
      `What a listener does when it ends. ${CLAIM_LOST}`,
    tag,
    input: CALLS.release.input,
    idempotency: 'not-documented',
    ...noContent('The deployment is free.', releaseForListener),
    errors: [404, 409],
  }),
]
