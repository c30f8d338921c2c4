/** The agent server of a plan that has graphs alone: in layers of its own, before anything of the tree, which deployments share. */
import type { NodePlan, PythonPlan } from '../../build/plan/build-plan.ts'
import { quoted, SERVER, shared, VENV } from './command.ts'

/** Nothing for a tree that brings its own. */
export function serverPackages(plan: NodePlan | PythonPlan): string[] {
  if (!plan.supplied) return []
  const packages = plan.supplied.packages.map(quoted).join(' ')
  if (plan.kind === 'node') return [shared(`cd ${SERVER}; npm install --prefix ${SERVER} ${packages}`)]
  return [
    shared(`python3 -m venv ${SERVER}/venv; ${SERVER}/venv/bin/pip install ${packages}`),
    // the server finds the tree's packages by this name, whatever the version of Python
    shared(
      `ln -s "$(${VENV}/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" ${VENV}/packages`,
    ),
  ]
}
