"""Says as JSON what a plan will do: the document of `llmch show --json`."""

from __future__ import annotations

from typing import Any

from factory.run.forecast_words import forecast_document
from llmch.preview.files import Effect
from llmch.preview.plan_preview import OrderPreview, PlanPreview
from llmch.preview.standing import OrderStand


def preview_document(preview: PlanPreview) -> dict[str, Any]:
    """Return the document. `findings` are null, also in the orders, where no rule was asked."""
    ground = preview.ground
    judged = ground.report is not None
    return {
        "plan": str(ground.folder),
        "repo": str(ground.repo) if ground.repo else None,
        "branch": ground.branch or None,
        "branch_exists": ground.branch_exists,
        "follows": list(ground.follows),
        "orders": [_order(each, judged=judged) for each in preview.orders],
        "withdrawn": [{"id": each.id, "reason": each.reason} for each in preview.withdrawn],
        "requirements": [
            {
                "id": each.id,
                "text": each.text,
                "line": each.line,
                "orders": [order.id for order in each.orders],
                "asserted_by": each.asserted_by,
            }
            for each in preview.requirements
        ],
        "counts": {
            "orders": len(preview.orders),
            **{each.value: preview.count(each) for each in OrderStand},
            **{f"files_{each.value}": preview.files[each] for each in Effect},
            "uncovered": len(preview.uncovered),
        },
        "forecast": forecast_document(preview.forecast) if preview.forecast else None,
        "findings": [each.to_json() for each in preview.findings] if judged else None,
        "problems": list(preview.problems),
        "refusal": ground.refusal or None,
    }


def _order(order: OrderPreview, *, judged: bool) -> dict[str, Any]:
    standing = order.standing
    return {
        "id": order.id,
        "title": order.title,
        "state": standing.stand.value,
        "commit": standing.commit or None,
        "reason": standing.reason or None,
        "files": [
            {"path": each.path, "effect": each.effect.value, "is_test": each.is_test}
            for each in order.files
        ],
        "needs": list(order.needs),
        "commands": list(order.commands),
        "covers": [{"id": name, "asserted_by": by.value} for name, by in order.covers],
        "findings": [each.to_json() for each in order.findings] if judged else None,
        "problems": list(order.problems),
        "forecast": forecast_document(order.forecast) if order.forecast else None,
    }
