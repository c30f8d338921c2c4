/**
 * Model-checks plan.ts without a database: random interleavings of calls, reports and timeouts. The invariants of
 * docs/deployments.md#revisions-and-rollouts must hold after every step. model.test.ts does the same with a database.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type Action,
  expireOverdue,
  fail,
  interrupt,
  isExhausted,
  type OpenRevision,
  type OpenStep,
  plan,
  type State,
  stateAfter,
  statusWhenTaken,
  succeed,
  supersede,
  WORKER_LOST,
} from '../../src/domain/rollouts/plan.ts'
import { findWaits } from '../../src/domain/rollouts/wait-explanations.ts'
import { explain } from '../../src/domain/values/explanation.ts'
import { canMove, isInTurn, isTerminal, missingContent } from '../../src/domain/values/lifecycle.ts'

type Status = OpenRevision['status']
interface Revision extends OpenRevision {
  readonly rollout: number
}

const INTERRUPTED = explain('DEPLOYMENT_DELETED', {})
const FAILED = explain('WORKER_LOST', { tries: 3 })
const NOW = new Date(0)
const QUIET = { late: false, untaken: false, mayComeBack: false, old: [] }

const AWAITS_RUNTIME: ReadonlySet<Status> = new Set(['CREATING', 'AWAITING_BUILD', 'AWAITING_DEPLOY'])
const isWorkedOn = (status: Status) => status === 'BUILDING' || status === 'DEPLOYING'

/** Throws plain errors: a matcher for each of millions of checks would take minutes. */
function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what)
}

/** One deployment: its state, all revisions, and the step that a holder works on. */
class World {
  state: State<Revision> = {
    hasRuntime: true,
    provisioned: false,
    deleted: false,
    tornDown: false,
    open: [],
    step: null,
    stepsTaken: 0,
    teardownFailures: 0,
    showsTeardownFailure: false,
  }
  readonly revisions: Revision[] = []
  rollout = 0
  busy: string | null = null
  /** rollouts in the order in which they became active */
  readonly active: number[] = []
  #steps = 0

  /** Applies actions, like reconcile.ts. */
  #settle(first: Action[] = []): void {
    this.#apply(first)
    const planned = plan(this.state)
    must(planned.length <= 8, 'a plan comes to an end')
    this.#apply(planned)
  }

  #apply(actions: Action[]): void {
    for (const action of actions) {
      const { step } = this.state
      if (action.do === 'move') this.#moved(action.revisionId, action.to)
      if (action.do === 'deployed') {
        this.#moved(action.revisionId, 'DEPLOYED')
        this.active.push(this.#revision(action.revisionId).rollout)
      }
      if (action.do === 'open step') must(step === null, 'one step is open')
      if (action.do === 'close step') must(step !== null, 'only what is open is closed')
      this.state = stateAfter(this.state, action)
      if (action.do === 'open step') this.#step({ id: `step ${++this.#steps}` })
    }
  }

  #moved(id: string, to: Status): void {
    const { status } = this.#revision(id)
    must(canMove(status, to), `${status} becomes ${to}`)
    this.#put({ ...this.#revision(id), status: to })
  }

  #revision = (id: string): Revision => this.revisions.find((revision) => revision.id === id)!
  #put(revision: Revision): void {
    this.revisions[this.revisions.findIndex(({ id }) => id === revision.id)] = revision
  }

  #step(change: Partial<OpenStep>): void {
    this.state = { ...this.state, step: { ...this.state.step!, ...change } }
  }

  act(action: keyof typeof ACTIONS, pick: number): void {
    if (!this.state.tornDown) ACTIONS[action](this, pick)
    this.check()
  }

  rollOut(pick: number): void {
    if (this.state.deleted) return
    const number = this.revisions.length + 1
    const id = `revision ${number}`
    this.#apply(supersede(this.state, { id, number }))
    const external = pick % 3 === 0
    const revision: Revision = {
      id,
      number,
      rollout: ++this.rollout,
      status: 'CREATING',
      source: external ? 'internal_container' : 'gitprovider',
      repoRef: 'main',
      imageUri: pick % 2 ? 'image' : null,
      sourceTarballPath: null,
      artifact: pick % 5 === 0 ? 'built' : null,
    }
    this.revisions.push(revision)
    this.#restart(revision)
  }

  redeploy(pick: number): void {
    const ended = this.revisions.filter((r) => isTerminal(r.status) && !missingContent(r))
    const revision = ended[pick % Math.max(1, ended.length)]
    if (!revision || this.state.deleted) return
    this.#apply(supersede(this.state, revision))
    const status = this.state.provisioned ? 'QUEUED' : 'CREATING'
    must(canMove(revision.status, status), 'what has ended can be redeployed')
    const again = { ...revision, status, rollout: ++this.rollout } as const
    this.#put(again)
    this.#restart(again)
  }

  #restart(revision: Revision): void {
    this.state = { ...this.state, open: [...this.state.open, revision] }
    this.#settle()
    must(
      this.state.open.every(({ id, status }) => id === revision.id || isWorkedOn(status)),
      'a newer rollout skips all waiting revisions',
    )
  }

  interrupt(pick: number): void {
    const { open } = this.state
    const revision = open[pick % Math.max(1, open.length)]
    if (revision) this.#settle(interrupt([revision], INTERRUPTED))
  }

  delete(force: boolean): void {
    if (!this.state.deleted) {
      this.#apply(interrupt(this.state.open, INTERRUPTED))
      this.state = { ...this.state, deleted: true, stepsTaken: this.#begun }
    }
    this.#settle(force ? [{ do: 'torn down' }] : [])
  }
  #begun = 0

  /** A holder asks for its assignment, as in claims/assignment.ts. */
  take(): void {
    const { step } = this.state
    if (!step || this.busy) return
    if (isExhausted(step)) {
      this.#settle(fail(this.state, WORKER_LOST))
      return
    }
    if (!step.firstTakenAt) this.#begun++
    this.#step({ tries: step.tries + 1, firstTakenAt: NOW })
    this.busy = step.id
    const revision = this.state.open.find(({ id }) => id === step.revisionId)
    const to = revision && statusWhenTaken(revision)
    if (to) this.#apply([{ do: 'move', revisionId: revision.id, to, why: null }])
  }

  /** A report about a withdrawn step is not recorded. */
  complete(actions: (state: State) => Action[]): void {
    const current = this.busy !== null && this.busy === this.state.step?.id
    this.busy = null
    if (current) this.#settle(actions(this.state))
  }

  release(): void {
    const { step } = this.state
    if (step && this.busy === step.id) this.#step({ tries: Math.max(step.tries - 1, step.triesGivenBack) })
    this.busy = null
  }

  comesBack(): void {
    const { step } = this.state
    this.busy = null
    if (step && step.tries > step.triesGivenBack) this.#step({ triesGivenBack: step.triesGivenBack + 1 })
  }

  sweep(clock: Partial<Parameters<typeof expireOverdue>[1]>): void {
    const { step } = this.state
    const untaken = clock.untaken === true && !step?.firstTakenAt
    const late = clock.late === true && step?.firstTakenAt != null
    this.#settle(expireOverdue(this.state, { ...QUIET, ...clock, untaken, late }))
    must(!untaken || !step || step.kind === 'TEARDOWN' || this.state.step !== step, 'a step that no worker takes ends')
    must(!late || this.state.step !== step, 'what is late ends')
  }

  setRuntime(hasRuntime: boolean): void {
    this.state = { ...this.state, hasRuntime }
    this.#settle()
  }

  check(): void {
    const { state } = this
    const { open, step, deleted, tornDown } = state
    must(plan(state).length === 0, 'what the plan asks for, done, leaves nothing to ask for')
    const inTurn = open.filter(({ status }) => isInTurn(status))
    const [current] = inTurn
    must(inTurn.length <= 1, 'one turn')
    must(open.length - inTurn.length <= 1, 'one waits')
    for (const waiting of open)
      must(
        waiting === current || !current || waiting.rollout > current.rollout,
        'no revision waits behind a newer rollout',
      )
    must(
      this.active.every((rollout, i) => i === 0 || rollout > this.active[i - 1]!),
      'an older rollout never becomes active after a newer one',
    )
    for (const revision of open) {
      must(revision.status === 'CREATING' || !missingContent(revision), 'a queued revision has content')
      must(state.hasRuntime || !AWAITS_RUNTIME.has(revision.status), 'without a runtime no revision waits for one')
    }
    must(!step || step.tries - step.triesGivenBack <= 3, 'at most three tries count')
    for (const revision of this.revisions)
      must(
        isTerminal(revision.status) !== open.some(({ id, status }) => id === revision.id && status === revision.status),
        'the state contains exactly the open revisions',
      )

    const expected = deleted
      ? tornDown
        ? undefined
        : 'TEARDOWN'
      : current
        ? current.status.includes('BUILD')
          ? 'BUILD'
          : 'DEPLOY'
        : open.length > 0 && !state.provisioned
          ? 'PROVISION'
          : undefined
    must(step?.kind === expected, `the open step is ${expected}, not ${step?.kind}`)
    must(!deleted || open.length === 0, 'a deleted deployment has no open revision')
    if (current) {
      must(step?.revisionId === current.id, 'the step belongs to the revision with the turn')
      must((step?.firstTakenAt !== null) === !current.status.startsWith('AWAITING'), 'a taken step is being worked on')
    }
    // everything open is being worked on or says what it waits for
    const explained = new Map(findWaits(state).map(({ revisionId, explanation: why }) => [revisionId, why]))
    for (const revision of open) {
      const working = step?.firstTakenAt && (step.revisionId ?? revision.id) === revision.id
      must(working || explained.get(revision.id) != null, 'a waiting revision says what it waits for')
    }
  }

  /** With a holder that always succeeds and content for every revision, all revisions end, the newest rollout last. */
  end(): void {
    this.setRuntime(true)
    for (let rounds = 0; this.state.step; rounds++) {
      must(rounds < 20, 'nothing goes on forever')
      this.busy = null
      this.take()
      this.complete((state) => succeed(state, 1n, {}))
      this.check()
    }
    this.sweep({ old: this.state.open.map(({ id }) => id) })
    this.check()
    must(this.state.open.length === 0, 'everything comes to an end')
    must(!this.state.deleted || this.state.tornDown, 'what is deleted is torn down')
  }
}

const ACTIONS = {
  patch: (world, pick) => world.rollOut(pick),
  'patch again': (world, pick) => world.rollOut(pick + 1),
  redeploy: (world, pick) => world.redeploy(pick),
  interrupt: (world, pick) => world.interrupt(pick),
  delete: (world, pick) => pick % 4 === 0 && world.delete(pick % 8 === 0),
  take: (world) => world.take(),
  'take again': (world) => world.take(),
  succeed: (world) => world.complete((state) => succeed(state, 1n, {})),
  'succeed immediately': (world) => {
    world.take()
    world.complete((state) => succeed(state, 1n, {}))
  },
  fail: (world) => world.complete((state) => fail(state, FAILED, 1n)),
  stopped: (world) => world.complete(() => []),
  release: (world) => world.release(),
  'lose the holder': (world) => {
    world.busy = null
  },
  'the holder comes back': (world) => world.comesBack(),
  'the deadline passes': (world) => world.sweep({ late: true }),
  'a day passes': (world) => world.sweep({ untaken: true, old: world.state.open.map(({ id }) => id) }),
  sweep: (world, pick) => world.sweep({ mayComeBack: pick % 2 === 0 }),
  'a runtime comes or goes': (world, pick) => world.setRuntime(pick % 4 !== 0),
} as const satisfies Record<string, (world: World, pick: number) => unknown>

const NAMES = Object.keys(ACTIONS) as (keyof typeof ACTIONS)[]

test('the plan keeps its invariants in every state and terminates, in any order of calls, reports and timeouts', () => {
  // each byte is one step: an action and its target
  const script = fc.uint8Array({ minLength: 5, maxLength: 30 })
  const numRuns = Number(process.env.PLAN_RUNS ?? 20_000)
  let steps = 0
  fc.assert(
    fc.property(script, (bytes) => {
      const world = new World()
      world.act('patch', 1)
      for (const byte of bytes) world.act(NAMES[byte % NAMES.length]!, Math.floor(byte / NAMES.length))
      world.end()
      steps += bytes.length
    }),
    { numRuns, endOnFailure: true },
  )
  expect(steps).toBeGreaterThan(numRuns * 5)
})

test('turns follow the order of rollouts, and an existing artifact is not built again', () => {
  const world = new World()
  world.act('patch', 1)
  world.act('succeed immediately', 0)
  expect(world.state.step).toMatchObject({ kind: 'BUILD', revisionId: 'revision 1' })
  world.act('take', 0)
  world.act('patch', 5)
  expect(world.revisions.map(({ status }) => status)).toEqual(['BUILDING', 'QUEUED'])
  world.act('patch', 10)
  expect(world.revisions.map(({ status }) => status)).toEqual(['BUILDING', 'SKIPPED', 'QUEUED'])
  world.act('fail', 0)
  expect(world.state.step).toMatchObject({ kind: 'DEPLOY', revisionId: 'revision 3' })
})
