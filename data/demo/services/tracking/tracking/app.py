"""The HTTP interface: scans come in, timelines go out."""

from __future__ import annotations

from datetime import datetime

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tracking.models import Scan, Status
from tracking.repository import MemoryRepository
from tracking.timeline import current_status, fold_scans

repository = MemoryRepository()


async def receive_scan(request: Request) -> JSONResponse:
    """POST /scans: store one scan, however often it is sent."""
    body = await request.json()
    scan = Scan(body["parcel"], body["carrier"], Status(body["status"]), datetime.fromisoformat(body["at"]))
    fresh = repository.add(scan)
    return JSONResponse({"stored": fresh}, status_code=201 if fresh else 200)


async def show_timeline(request: Request) -> JSONResponse:
    """GET /parcels/{number}: the steps that a person is shown."""
    number = request.path_params["number"]
    steps = fold_scans(repository.of_parcel(number))
    if not steps:
        return JSONResponse({"error": "unknown parcel"}, status_code=404)
    shown = [{"status": step.status.value, "at": step.at.isoformat(), "where": step.where} for step in steps]
    return JSONResponse({"parcel": number, "status": current_status(steps).value, "steps": shown})


app = Starlette(
    routes=[
        Route("/scans", receive_scan, methods=["POST"]),
        Route("/parcels/{number}", show_timeline),
    ]
)
