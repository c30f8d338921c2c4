/** Makes the part of a plan that a revision shows. */
import type { BuildPlanReport } from '../../../domain/protocol/protocol.ts'
import { BUILD_PLAN_LIMITS } from '../../../domain/protocol/requests.ts'
import type { BuildPlan } from './build-plan.ts'
import { describePlan, describeStep, hidePasswords } from './describe-plan.ts'

export function planReport(plan: BuildPlan, mask: (text: string) => string): BuildPlanReport {
  const shown = (text: string, max = BUILD_PLAN_LIMITS.command) => hidePasswords(mask(text)).slice(0, max)
  const { kind, server } = plan
  const sentence = shown(describePlan(plan), BUILD_PLAN_LIMITS.sentence)
  if (kind === 'dockerfile') return { kind, server, sentence, install: [], build: null, start: null }
  return {
    kind,
    server,
    sentence,
    install: plan.install.slice(0, BUILD_PLAN_LIMITS.commands).map((step) => shown(describeStep(step))),
    build: plan.kind === 'node' && plan.build ? shown(plan.build.command) : null,
    start: shown(plan.start.command),
  }
}
