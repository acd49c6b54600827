/* SPDX-License-Identifier: MIT */
/* Everything of PCL and FLANN that is timed is instantiated here, with this file's flags and without
 * OpenMP: Debian's libraries open an OpenMP region in each query of the kd-tree, which costs more
 * than the query. */
#define PCL_NO_PRECOMPILE

#include "pcl-ndt.h"

#include <pcl/pcl_config.h>
#include <pcl/point_types.h>
#include <pcl/filters/voxel_grid.h>
#include <pcl/registration/ndt.h>

using Point = pcl::PointXYZ;
using Cloud = pcl::PointCloud<Point>;
using Vector6 = Eigen::Matrix<double, 6, 1>;
using Matrix6 = Eigen::Matrix<double, 6, 6>;

namespace {

class Ndt : public pcl::NormalDistributionsTransform<Point, Point>
{
public:
  bool
  hasVoxels ()
  {
    return !target_cells_.getCentroids ()->empty ();
  }

  double
  evaluate (const Eigen::Matrix4f &pose)
  {
    const Eigen::Affine3d transform (pose.cast<double> ());
    Vector6 p, gradient;
    Matrix6 hessian;
    p << transform.translation (), transform.rotation ().eulerAngles (0, 1, 2);
    pcl::transformPointCloud (*input_, moved, pose);
    return computeDerivatives (gradient, hessian, moved, p, true);
  }

  std::size_t
  countPairs (const Eigen::Matrix4f &pose)
  {
    std::size_t n = 0;
    std::vector<TargetGridLeafConstPtr> cells;
    std::vector<float> distances;
    pcl::transformPointCloud (*input_, moved, pose);
    for (const Point &point : moved)
      n += target_cells_.radiusSearch (point, resolution_, cells, distances);
    return n;
  }

private:
  Cloud moved;
};

Cloud::Ptr
toCloud (const float *xyz, std::size_t n)
{
  Cloud::Ptr cloud (new Cloud);
  cloud->reserve (n);
  for (std::size_t i = 0; i < n; i++)
    cloud->push_back (Point (xyz[3 * i], xyz[3 * i + 1], xyz[3 * i + 2]));
  return cloud;
}

Eigen::Matrix4f
toMatrix (const double m[16])
{
  return Eigen::Map<const Eigen::Matrix<double, 4, 4, Eigen::RowMajor>> (m).cast<float> ();
}

} // namespace

struct PclNdt {
  Ndt ndt;
  Cloud out;

  EIGEN_MAKE_ALIGNED_OPERATOR_NEW
};

PclNdt *
pcl_ndt_new (const float *xyz, size_t n, double resolution, double step, double epsilon,
    int max_iterations, double outlier_ratio)
{
  auto *self = new PclNdt;
  self->ndt.setResolution (static_cast<float> (resolution));
  self->ndt.setStepSize (step);
  self->ndt.setTransformationEpsilon (epsilon);
  self->ndt.setMaximumIterations (max_iterations);
  self->ndt.setOulierRatio (outlier_ratio);
  /* Keeps Registration from indexing all points of the map, which NDT never asks for. */
  self->ndt.setSearchMethodTarget (self->ndt.getSearchMethodTarget (), true);
  self->ndt.setInputTarget (toCloud (xyz, n));
  if (self->ndt.hasVoxels ())
    return self;
  delete self;
  return nullptr;
}

void
pcl_ndt_free (PclNdt *ndt)
{
  delete ndt;
}

void
pcl_ndt_set_scan (PclNdt *ndt, const float *xyz, size_t n)
{
  ndt->ndt.setInputSource (toCloud (xyz, n));
}

int
pcl_ndt_align (PclNdt *ndt, const double guess[16], double result[16])
{
  ndt->ndt.align (ndt->out, toMatrix (guess));
  Eigen::Map<Eigen::Matrix<double, 4, 4, Eigen::RowMajor>> (result, 4, 4) =
      ndt->ndt.getFinalTransformation ().cast<double> ();
  return ndt->ndt.getFinalNumIteration ();
}

double
pcl_ndt_evaluate (PclNdt *ndt, const double pose[16])
{
  return ndt->ndt.evaluate (toMatrix (pose));
}

size_t
pcl_ndt_count_pairs (PclNdt *ndt, const double pose[16])
{
  return ndt->ndt.countPairs (toMatrix (pose));
}

struct PclThin {
  pcl::VoxelGrid<Point> grid;
  Cloud out;

  EIGEN_MAKE_ALIGNED_OPERATOR_NEW
};

PclThin *
pcl_thin_new (const float *xyz, size_t n, float leaf_size)
{
  auto *self = new PclThin;
  self->grid.setInputCloud (toCloud (xyz, n));
  self->grid.setLeafSize (leaf_size, leaf_size, leaf_size);
  return self;
}

size_t
pcl_thin_run (PclThin *thin)
{
  thin->grid.filter (thin->out);
  return thin->out.size ();
}

void
pcl_thin_free (PclThin *thin)
{
  delete thin;
}

const char *
pcl_ndt_version (void)
{
  return PCL_VERSION_PRETTY;
}
