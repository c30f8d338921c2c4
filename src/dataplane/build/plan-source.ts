/** Makes the plan of a loaded source, before any of its code has run. */
import type { LogLevel, RevisionWork } from '../../domain/protocol/protocol.ts'
import { HEALTH_PATH_SECRET, healthPathOf } from '../../domain/values/health-path.ts'
import { StepFailure } from '../output/step-failure.ts'
import type { BuildPlan } from './plan/build-plan.ts'
import { planBuild, type SuppliedServers } from './plan/plan-build.ts'
import { sourceTree } from './plan/source-tree.ts'

/**
 * `hint`: what to check when a file is missing. `log` gets the plan's notes; the caller logs the plan itself. Throws StepFailure.
 */
export function planSource(
  tree: string,
  { graphConfigPath, installCommand, buildCommand }: RevisionWork,
  settings: SuppliedServers,
  hint: string,
  log: (line: string, level?: LogLevel) => void,
): BuildPlan {
  if (!graphConfigPath) throw new StepFailure('CONFIG_INVALID', 'graph_config_path is needed for a build.')
  const plan = planBuild(sourceTree(tree), { graphConfigPath, installCommand, buildCommand, settings, hint })
  for (const note of plan.notes) log(note, 'warning')
  return plan
}

/** An image has no health path, so `health_path` of the file has no effect there. */
export function warnOfUnusedHealthPath(
  { healthPath, graphConfig }: BuildPlan,
  { secrets }: Pick<RevisionWork, 'secrets'>,
  log: (line: string, level?: LogLevel) => void,
): void {
  if (healthPath === undefined || healthPathOf(secrets, healthPath) === healthPathOf(secrets)) return
  log(
    `"health_path" of "${graphConfig}" has no effect on an image: set the secret ${HEALTH_PATH_SECRET} to ${healthPath}.`,
    'warning',
  )
}
